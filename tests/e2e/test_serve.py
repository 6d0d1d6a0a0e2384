"""Starting, ending and starting again; and each reason for which it cannot start."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from eventually import eventually
from pipeline import article, decision, item, put
from winnow_process import BINARY, Server, children_of, postmaster_pid, run_winnow

import winnow

pytestmark = pytest.mark.one_process("starts and ends of a process")


def start_and_fail(server: Server, *arguments: str | Path) -> tuple[int, str]:
    """Exit code and standard error of a start that must not succeed."""
    command = [*server.command()[1:], *map(str, arguments)]
    done = run_winnow(*command)
    return done.code, done.err


def test_it_says_in_one_line_what_serves_where(single: Server) -> None:
    assert (single.folder / "out").read_text().count("\n") == 1
    assert str(single.data_dir) in single.store


def test_a_start_that_goes_well_warns_of_nothing(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    assert '"level":"warn' not in server.log
    assert server.stop() == 0


def test_after_kill_9_it_starts_again_with_everything_acknowledged(
    make_server: Callable[..., Server],
) -> None:
    server = make_server().start()
    with server.connect() as client:
        stored = put(client, [item("kill", number) for number in range(50)])
    server.kill()
    server.start()
    with server.connect() as client:
        for each in stored:
            assert client.collector.get_item(each.id).title == each.title
            decision(client, each)
            article(client, each)
    assert server.stop() == 0


def test_every_signal_ends_it_in_order(make_server: Callable[..., Server]) -> None:
    # SIGINT as a script's background job inherits it: ignored.
    server = make_server(ignored=(signal.SIGINT,))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        server.start()
        server.signal(number)
        assert server.wait() == 0
        assert server.log.splitlines()[-1].find('"msg":"stopped"') > 0
        # Its PostgreSQL ended before it did.
        assert not list(server.data_dir.rglob("postmaster.pid"))


def test_a_drain_refuses_new_calls_ends_streams_and_loses_nothing(
    make_server: Callable[..., Server],
) -> None:
    server = make_server().start()
    stored: list[str] = []
    with server.connect(retry=winnow.NO_RETRY) as client:

        def endless() -> object:
            number = 0
            while True:
                yield item("drain", number)
                number += 1

        with pytest.raises(winnow.Unavailable) as raised:
            for _, result in client.collector.ingest_items(endless()):  # type: ignore[arg-type]
                assert isinstance(result, winnow.StoredItem)
                stored.append(result.id)
                if len(stored) == 100:
                    server.signal(signal.SIGTERM)
        assert raised.value.reason == "SHUTTING_DOWN"
        assert raised.value.retry_after is not None
    assert server.wait() == 0
    server.start()
    with server.connect() as client:
        for id in stored:
            assert client.collector.get_item(id).id == id


def test_a_signal_ends_it_while_it_makes_its_postgresql(
    make_server: Callable[..., Server],
) -> None:
    server = make_server()
    server.launch()
    eventually((server.data_dir / "pg.tmp" / "PG_VERSION").exists, "initdb has begun")
    server.signal(signal.SIGTERM)
    assert server.wait() == 0, server.log
    assert (server.folder / "out").read_text() == ""  # it never said that it serves
    assert '"msg":"stopped while it started"' in server.log
    assert server.start().stop() == 0


def ends_while_it_waits(server: Server) -> int:
    eventually(lambda: "waiting for another migrator" in server.log, "it waits for the lock")
    server.signal(signal.SIGTERM)
    return server.wait()


def test_a_signal_ends_serve_and_migrate_while_they_wait_for_the_lock_of_migrations(
    make_server: Callable[..., Server], single: Server, namespace: str
) -> None:
    database = single.database().sibling(namespace.replace("-", "_"))
    own = make_server(config={"postgres": {"url": database.url, "migrate_on_start": True}})
    with database.holding(
        "SELECT pg_advisory_lock(hashtextextended('winnow.migrate.collector', 0))"
    ):
        own.launch()
        assert ends_while_it_waits(own) == 0, own.log
        migrate = [str(BINARY), "migrate", "--config", str(own.folder / "config.json")]
        (own.folder / "log").unlink()
        with (own.folder / "log").open("wb") as log:
            own.process = subprocess.Popen(migrate, stderr=log)
        assert ends_while_it_waits(own) == 130
    database.drop()


def test_a_silent_postgresql_holds_no_stop_up(make_server: Callable[..., Server]) -> None:
    server = make_server(config={"calls": {"drain_timeout": "1s"}}).start()
    with server.connect() as client:
        put(client, [item("silent", number) for number in range(3)])
    postmaster = postmaster_pid(server)
    assert postmaster is not None
    stopped = [postmaster, *children_of(postmaster)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    server.signal(signal.SIGTERM)
    # Its workers' statements are given 30 s and the end of its PostgreSQL 80 s when nobody hurries.
    assert server.process is not None
    server.process.wait(timeout=28)
    server.wait()
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert server.start().stop() == 0


def test_a_stop_gives_the_outboxes_back_though_a_delivery_waits(
    make_server: Callable[..., Server], single: Server, namespace: str
) -> None:
    database = single.database().sibling(namespace.replace("-", "_"))
    postgres = {"url": database.url, "migrate_on_start": True}
    own = make_server(config={"postgres": postgres, "calls": {"drain_timeout": "1s"}}).start()
    waits = "SELECT count(*) FROM pg_locks WHERE relation = 'newsfeed.news_articles'::regclass"
    held = "SELECT count(*) FROM dedup.outbox_lease WHERE expire_time > now()"
    with database.holding("BEGIN; LOCK TABLE newsfeed.news_articles"):
        with own.connect() as client:
            put(client, [item(namespace, 1)])
        eventually(
            lambda: database.run(f"{waits} AND NOT granted").strip() != "0", "the delivery waits"
        )
        eventually(lambda: database.run(held).strip() == "1", "it has dedup's outbox")
        assert own.stop() == 0
        assert database.run(held).strip() == "0"
    assert "outbox lease is not given back" not in own.log
    database.drop()


def test_a_standard_error_that_nobody_reads_stops_nothing(
    make_server: Callable[..., Server],
) -> None:
    server = make_server(config={"log": {"level": "debug"}})
    unread, stderr = os.pipe()
    try:
        fcntl.fcntl(stderr, fcntl.F_SETPIPE_SZ, 4096)
        server.launch(stderr)
        server.await_ready()
        with server.connect() as client:
            (stored,) = put(client, [item("unread", 0)])
            for _ in range(100):
                client.collector.get_item(stored.id)
        assert not select.select([], [stderr], [], 0)[1], "it is full"
        assert server.stop() == 0
    finally:
        os.close(unread)
        os.close(stderr)


def test_any_number_of_signals_ends_it_in_order(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    assert server.process is not None
    while server.process.poll() is None:
        server.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(timeout=0.002)
    assert server.wait() == 0, server.log


def test_a_taken_port_is_told(make_server: Callable[..., Server], single: Server) -> None:
    other = make_server()
    code, error = start_and_fail(other, "--listen", single.address)
    assert code == 2
    assert "listen" in error
    assert single.address in error
    assert "--listen" in error
    # Before anything was made, and with the error last.
    assert not other.data_dir.exists()
    assert "--listen" in error.splitlines()[-1]


def test_a_taken_metrics_port_is_told(make_server: Callable[..., Server]) -> None:
    other = make_server()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, error = start_and_fail(other, "--metrics", address)
    assert code == 2
    assert "metrics.listen" in error
    assert address in error
    assert "--metrics" in error


def test_a_data_directory_in_use_is_told(
    make_server: Callable[..., Server], single: Server
) -> None:
    other = make_server()
    code, error = start_and_fail(other, "--data-dir", single.data_dir)
    assert code == 1
    assert str(single.data_dir) in error
    assert "another" in error.lower() or "in use" in error.lower()


def test_a_start_that_fails_late_waits_no_drain_delay_and_ends_with_its_error(
    make_server: Callable[..., Server],
) -> None:
    other = make_server(config={"calls": {"drain_delay": "60s"}})
    code, error = start_and_fail(other, "--address-file", other.folder / "none" / "address")
    assert code == 1
    *logged, last = error.splitlines()
    assert last.startswith("winnow: --address-file: "), error
    (drained,) = [json.loads(line) for line in logged if "calls drained" in line]
    assert drained["ms"] < 60_000


def test_a_failed_start_leaves_no_address(make_server: Callable[..., Server]) -> None:
    other = make_server(config={"postgres": {"url": "postgres://nobody@127.0.0.1:1/none"}})
    stale = other.folder / "address"
    stale.write_text("127.0.0.1:1\n")
    code, error = start_and_fail(other, "--address-file", stale)
    assert code == 3
    assert error.splitlines()[-1].startswith("winnow: "), error
    assert not stale.exists()


def test_a_data_directory_that_is_none_is_told(make_server: Callable[..., Server]) -> None:
    other = make_server()
    file = other.folder / "file"
    file.write_text("not a directory")
    code, error = start_and_fail(other, "--data-dir", file / "data")
    assert code in (1, 2)
    assert str(file) in error


def test_an_unwritable_data_directory_is_told(make_server: Callable[..., Server]) -> None:
    other = make_server()
    locked = other.folder / "locked"
    locked.mkdir(mode=0o500)
    # Root may write into any directory of a disk.
    unwritable = Path("/proc/winnow") if os.getuid() == 0 else locked / "data"
    code, error = start_and_fail(other, "--data-dir", unwritable)
    assert code == 1
    assert str(unwritable) in error


def test_no_postgresql_names_the_package(make_server: Callable[..., Server]) -> None:
    other = make_server()
    empty = other.folder / "empty"
    empty.mkdir()
    command = [*other.command()[1:], "--postgres-versions-dir", str(empty)]
    done = run_winnow(*command, environment={"PATH": str(empty)})
    assert done.code == 1
    assert "postgresql-15" in done.err or "apt" in done.err


def test_help_is_everywhere_and_has_examples() -> None:
    commands: list[list[str]] = [
        ["serve"],
        ["import"],
        ["migrate"],
        ["check-config"],
        ["feed", "list"],
        ["feed", "scroll"],
        ["dedup", "compare"],
        ["dedup", "check"],
        ["dedup", "duplicates"],
        ["collect", "list"],
        ["collect", "get"],
    ]
    top = run_winnow("--help")
    assert top.code == 0
    assert "Exit codes" in top.out
    for command in commands:
        assert command[0] in top.out
        shown = run_winnow(*command, "--help")
        assert shown.code == 0, command
        assert "Example" in shown.out, command
    assert run_winnow("--version").out.startswith("winnow 0.")
    nothing = run_winnow()
    assert nothing.code == 2
    assert "subcommand" in nothing.err
    assert run_winnow("no-such-command").code == 2
