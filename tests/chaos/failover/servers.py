"""Winnow processes of all targets on a PostgreSQL that they share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from winnow_process import Server, new_server, run_winnow


def migrate(server: Server) -> None:
    server.command()  # writes its configuration
    done = run_winnow("migrate", "--config", str(server.folder / "config.json"))
    assert done.code == 0, done.err


def assert_runs(server: Server) -> None:
    assert server.process is not None
    code = server.process.poll()
    assert code is None, f"{server.folder.name} ended with {code}"


@contextmanager
def serving(url: str, count: int = 2, **config: Any) -> Iterator[list[Server]]:
    """`count` processes, each of all targets, on the database of that URL, which is migrated."""
    settings = {"postgres": {"url": url}, **config}
    made = [new_server(f"failover-{number}", config=settings) for number in range(count)]
    try:
        migrate(made[0])
        for server in made:
            server.launch()
        for server in made:
            server.await_ready()
        yield made
        for server in made:
            assert_runs(server)
    except BaseException:
        for server in made:
            print(f"the log of {server.folder.name} ends:\n{server.log[-2000:]}", flush=True)
        raise
    finally:
        for server in made:
            server.close()
