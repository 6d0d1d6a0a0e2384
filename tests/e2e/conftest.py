"""The worlds in which the suite runs: a server of all targets, and the split of split_world.

A test that takes `server` (or `client`, its connection) runs in both. One that is about a single
process says so, and why, by the marker one_process; there is no third way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_vendors import FakeVendors
from redis_process import redis_server
from split_world import Split
from winnow_process import Server, Serving, new_server

import winnow

ALL, SPLIT = "all", "split"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "one_process(why): is not for the split world, and why not")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "split" in metafunc.fixturenames:
        worlds = [SPLIT]
    elif metafunc.definition.get_closest_marker("one_process"):
        worlds = [ALL]
    else:
        worlds = [ALL, SPLIT]
    if "server" in metafunc.fixturenames:
        metafunc.parametrize("server", worlds, indirect=True, scope="session")
    elif SPLIT in worlds:
        where = metafunc.definition.nodeid
        raise pytest.UsageError(f"{where} takes no server: mark it one_process, and say why")


@pytest.fixture(scope="session")
def world_vendors() -> Iterator[FakeVendors]:
    """Whom the collectors of both worlds ask."""
    made = FakeVendors()
    yield made
    made.close()


@pytest.fixture(scope="session")
def server(
    request: pytest.FixtureRequest,
    world_vendors: FakeVendors,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Serving]:
    """What serves every test that needs nothing special of it."""
    config = {"collector": world_vendors.collector_config(tmp_path_factory.mktemp("keys"))}
    running = Split(config) if request.param == SPLIT else new_server("e2e", config=config)
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture(scope="session")
def single(server: Serving) -> Server:
    """The server of all targets, for tests that are marked one_process."""
    assert isinstance(server, Server)
    return server


@pytest.fixture(scope="session")
def split(server: Serving) -> Split:
    """For tests that are about the split."""
    assert isinstance(server, Split)
    return server


@pytest.fixture(scope="session")
def client(server: Serving) -> Iterator[winnow.Winnow]:
    with server.connect() as connected:
        yield connected


_names = itertools.count(1)


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test knows."""
    return f"test-{next(_names)}"


@pytest.fixture
def make_server() -> Iterator[Callable[..., Server]]:
    """Servers of a test's own, ended with it."""
    made: list[Server] = []

    def make(**settings: Any) -> Server:
        made.append(new_server("e2e-own", **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def redis_socket(tmp_path: Path) -> Iterator[Path]:
    """The socket of a Redis of the test's own."""
    with redis_server(tmp_path) as socket:
        yield socket
