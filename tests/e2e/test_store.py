"""Another's PostgreSQL, schemas that are older or newer, and a store that goes away."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eventually import eventually
from pipeline import article, item, put
from postgres_admin import Database
from winnow_process import Server, children_of, postmaster_pid, run_winnow

import winnow

pytestmark = pytest.mark.one_process("stores of its own, which are broken")


@pytest.fixture
def database(single: Server, namespace: str) -> Iterator[Database]:
    """An empty database on the PostgreSQL of the suite's server."""
    made = single.database().sibling(namespace.replace("-", "_"))
    yield made
    made.drop()


def test_another_postgresql_is_migrated_by_hand_and_then_serves(
    make_server: Callable[..., Server], database: Database
) -> None:
    server = make_server(config={"postgres": {"url": database.url}})
    refused = run_winnow(*server.command()[1:])
    assert refused.code == 1
    assert "winnow migrate" in refused.err
    config = str(server.folder / "config.json")
    migrated = run_winnow("migrate", "--config", config)
    assert migrated.code == 0, migrated.err
    for schema in ("classification", "collector", "dedup", "newsfeed", "polling"):
        assert f"schema of {schema} is up to date" in migrated.out
    assert run_winnow("migrate", "--config", config).code == 0  # again: nothing to do

    server.start()
    assert "postgres.url" in server.store
    with server.connect() as client:
        (stored,) = put(client, [item("default", 1)])
        assert article(client, stored).title == stored.title
    assert server.stop() == 0
    assert not server.data_dir.exists()  # it keeps nothing of its own


def test_a_newer_schema_is_used_where_it_is_compatible_and_refused_where_not(
    make_server: Callable[..., Server], database: Database
) -> None:
    server = make_server(config={"postgres": {"url": database.url, "migrate_on_start": True}})
    server.start()
    assert server.stop() == 0
    known = int(database.run("SELECT max(version) FROM dedup.schema_migrations"))
    database.run(
        "INSERT INTO dedup.schema_migrations (version, name, checksum, oldest_compatible)"
        f" VALUES ({known + 1}, 'from_the_future.sql', 'x', '0.2.0')"
    )
    migrate = ["migrate", *server.command()[2:4]]
    migrated = run_winnow(*migrate)
    assert migrated.code == 0, migrated.err
    assert f"dedup is at version {known + 1}, newer than this binary's {known}" in migrated.out
    assert server.start().stop() == 0

    database.run(
        "UPDATE dedup.schema_migrations SET oldest_compatible = '999.1.0' WHERE checksum = 'x'"
    )
    for command in (server.command()[1:], migrate):
        refused = run_winnow(*command)
        assert refused.code == 1
        assert "schema dedup" in refused.err
        assert "needs winnow 999.1.0 or newer" in refused.err
        assert f"this binary ({run_winnow('--version').out.strip()})" in refused.err


def test_a_store_that_is_not_there_is_told(
    make_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = make_server(config={"postgres": {"url": f"postgres://u@/d?host={tmp_path}"}})
    done = run_winnow(*server.command()[1:])
    assert done.code == 3
    assert "PostgreSQL" in done.err
    errors = [line for line in done.err.splitlines() if not line.startswith("{")]
    # The log before it has the driver's word.
    host = f"{tmp_path}:5432 does not answer"
    assert errors == [f"winnow: no host of postgres.url is a usable primary: {host}"]


def test_a_store_that_goes_away_is_told_and_comes_back(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    with server.connect(retry=winnow.NO_RETRY) as client:
        (stored,) = put(client, [item("away", 1)])
        article(client, stored)
        postmaster = postmaster_pid(server)
        assert postmaster is not None
        # Stopped, not ended: the connections stay and nobody answers.
        stopped = [postmaster, *children_of(postmaster)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        with pytest.raises((winnow.Unavailable, winnow.DeadlineExceeded)):
            client.collector.get_item(stored.id, timeout=2.0)
        decision = client.dedup.submit_document(
            winnow.Document(
                namespace="away", id="d", channel="c", title="Nobody can remember this"
            ),
            timeout=20.0,
        )
        assert not decision.recorded
        assert decision.verdict == winnow.Verdict.VERDICT_UNIQUE
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)

        def answers() -> bool:
            try:
                return client.collector.get_item(stored.id, timeout=5.0).id == stored.id
            except winnow.WinnowError:
                return False

        eventually(answers, "the store answers again")
        (later,) = put(client, [item("away", 2)])
        article(client, later)
