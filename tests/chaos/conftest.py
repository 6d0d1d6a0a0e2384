from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from winnow_process import Server, new_server

# Of ./x chaos upgrade alone, which builds the two binaries that it takes.
collect_ignore = [] if "WINNOW_OLD_BINARY" in os.environ else ["test_upgrade.py"]


@pytest.fixture
def make_server() -> Iterator[Callable[..., Server]]:
    """Servers of a test's own, ended with it."""
    made: list[Server] = []

    def make(**settings: object) -> Server:
        made.append(new_server("chaos", **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()
