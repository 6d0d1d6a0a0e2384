"""Migrations of a database in use: from the schema before 0.2.0, killed, and two at once."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from catalog import catalog, contents
from eventually import eventually
from pipeline import item, put
from postgres_admin import Database
from winnow_process import BINARY, ENVIRONMENT, ROOT, SAMPLES, Server, run_winnow

pytestmark = pytest.mark.one_process("databases of its own, at older schemas")

# Written by the build before 0.2.0 (commit 6845edd): the samples, imported and classified, and
# three jobs; by pg_dump.
FORMER_STORE = ROOT / "tests" / "data" / "store_0_1_0.sql.gz"
INDEX = "newsfeed.uq_news_articles_url_new"


@pytest.fixture
def new_database(single: Server, namespace: str) -> Iterator[Callable[[str], Database]]:
    made: list[Database] = []

    def make(name: str) -> Database:
        made.append(single.database().sibling(f"{namespace.replace('-', '_')}_{name}"))
        return made[-1]

    yield make
    for each in made:
        each.drop()


def config_of(folder: Path, database: Database) -> str:
    path = folder / f"{database.name}.json"
    path.write_text(json.dumps({"postgres": {"url": database.url}}))
    return str(path)


def migrate(folder: Path, database: Database) -> None:
    done = run_winnow("migrate", "--config", config_of(folder, database))
    assert done.code == 0, done.err


def start_migrate(folder: Path, database: Database, name: str = "log") -> subprocess.Popen[bytes]:
    command = [str(BINARY), "migrate", "--config", config_of(folder, database)]
    with (folder / name).open("wb") as log:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=ENVIRONMENT,
        )


def forget_migration(database: Database, schema: str, version: int) -> None:
    """As if it, and those after it, had not run: for one that may run twice."""
    database.run(f"DELETE FROM {schema}.schema_migrations WHERE version >= {version}")


def index_state(database: Database) -> str:
    """Of the index that newsfeed/0010 builds: "t" once it is valid, "" where there is none."""
    query = f"SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('{INDEX}')"
    return database.run(query).strip()


def backends(database: Database) -> int:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    return int(database.run(query)) - 1


def test_a_store_of_the_build_before_is_upgraded_to_the_schema_of_a_new_one_and_served(
    make_server: Callable[..., Server], new_database: Callable[[str], Database], tmp_path: Path
) -> None:
    old, new = new_database("old"), new_database("new")
    old.load(gzip.decompress(FORMER_STORE.read_bytes()).decode())
    before = contents(old)
    assert len(before) > 40
    articles = set(old.run("SELECT id FROM newsfeed.news_articles WHERE NOT is_deleted").split())
    names = dict(
        line.split("|", 1)
        for line in old.run("SELECT id, channel_name FROM collector.items").splitlines()
    )
    migrate(tmp_path, old)
    migrate(tmp_path, new)
    assert catalog(old) == catalog(new)
    after = contents(old)
    assert {table: after[table] for table in before} == before

    server = make_server(config={"postgres": {"url": old.url}}).start()
    with server.connect() as client:
        served = {each.id for each in client.newsfeed.articles(namespace="default")}
        assert served == articles
        assert len(served) == 46
        items = list(client.collector.items(namespace="default", page_size=1000))
        assert {each.id: each.channel_name for each in items} == names
        again = server.run("import", SAMPLES, "--json").json()
        assert again["accepted"] == again["duplicates"] == 0
        assert again["already_present"] == again["lines"] - again["refused"]
        put(client, [item("default", 1)])
    assert server.stop() == 0


def test_a_kill_while_an_index_is_built_is_recovered_from(
    new_database: Callable[[str], Database], tmp_path: Path
) -> None:
    database, other = new_database("killed"), new_database("other")
    migrate(tmp_path, database)
    migrate(tmp_path, other)
    forget_migration(database, "newsfeed", 10)
    with database.holding("BEGIN; LOCK TABLE newsfeed.news_articles IN ROW EXCLUSIVE MODE"):
        killed = start_migrate(tmp_path, database)
        eventually(lambda: index_state(database) == "f", "it waits with an unfinished index")
        killed.kill()
        killed.wait()
        eventually(lambda: backends(database) == 1, "PostgreSQL has noticed")
    assert index_state(database) == "f"
    migrate(tmp_path, database)
    assert catalog(database) == catalog(other)


def test_a_kill_in_the_middle_of_a_transaction_leaves_nothing_of_it(
    new_database: Callable[[str], Database], tmp_path: Path
) -> None:
    database, other = new_database("killed"), new_database("other")
    migrate(tmp_path, database)
    migrate(tmp_path, other)
    forget_migration(database, "collector", 6)
    with database.holding("BEGIN; LOCK TABLE collector.items IN SHARE MODE"):
        killed = start_migrate(tmp_path, database)
        log = tmp_path / "log"
        eventually(lambda: "waits for a table lock" in log.read_text(), "it has begun")
        killed.kill()
        killed.wait()
    applied = "SELECT max(version) FROM collector.schema_migrations"
    assert database.run(applied).strip() == "5"
    migrate(tmp_path, database)
    assert database.run(applied).strip() == "6"
    assert catalog(database) == catalog(other)


def test_two_migrators_at_once_build_an_index_once_while_traffic_goes_on(
    make_server: Callable[..., Server], new_database: Callable[[str], Database], tmp_path: Path
) -> None:
    database = new_database("two")
    migrate(tmp_path, database)
    server = make_server(config={"postgres": {"url": database.url}}).start()
    forget_migration(database, "newsfeed", 10)
    with database.holding("BEGIN; LOCK TABLE newsfeed.news_articles IN ROW EXCLUSIVE MODE"):
        first = start_migrate(tmp_path, database, "first")
        eventually(lambda: index_state(database) == "f", "the first builds")
        second = start_migrate(tmp_path, database, "second")
        log = tmp_path / "second"
        eventually(lambda: "waiting for another migrator" in log.read_text(), "the second waits")
        with server.connect() as client:
            (stored,) = put(client, [item("two", 1)])
            eventually(
                lambda: any(a.id == stored.id for a in client.newsfeed.articles(namespace="two")),
                "an item becomes an article",
            )
    assert first.wait() == 0, (tmp_path / "first").read_text()
    assert second.wait() == 0, log.read_text()
    applied = [
        (tmp_path / each).read_text().count("0010_url_index") for each in ("first", "second")
    ]
    assert sum(1 for each in applied if each) == 1
    assert index_state(database) == ""  # the constraint has it
    assert server.stop() == 0
