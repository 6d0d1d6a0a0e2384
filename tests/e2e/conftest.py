from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eventually import eventually
from winnow_process import Server, new_server

import winnow


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server of all targets for every test that needs nothing special of it."""
    running = new_server("e2e")
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[winnow.Winnow]:
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

    def make(**settings: object) -> Server:
        made.append(new_server("e2e-own", **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def redis_socket(tmp_path: Path) -> Iterator[Path]:
    """The socket of a Redis of the test's own."""
    socket = tmp_path / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--dir", str(tmp_path)]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command, "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(socket.exists, "Redis listens")
        yield socket
    finally:
        process.kill()
        process.wait()
