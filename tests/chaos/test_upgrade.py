"""Two processes on one database while they are upgraded, evicted and rolled back, under load.

Run by ./x chaos upgrade: WINNOW_OLD_BINARY is the release before, WINNOW_NEW_BINARY one whose
schemas each have a further migration. WINNOW_UPGRADE_ITEMS (200): items acknowledged per step.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
from eventually import eventually
from postgres_admin import Database
from postgres_server import Postgres
from winnow_process import Finished, Server, run_winnow

import winnow

OLD = Path(os.environ.get("WINNOW_OLD_BINARY", ""))
NEW = Path(os.environ.get("WINNOW_NEW_BINARY", ""))
ITEMS = int(os.environ.get("WINNOW_UPGRADE_ITEMS", "200"))
NAMESPACE = "upgrade"
KIND = "stt"
SCHEMAS = ("classification", "collector", "dedup", "newsfeed", "polling")
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def title_of(number: int) -> str:
    chance = random.Random(number)
    return " ".join("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(6))


@dataclass
class Acknowledged:
    """What was answered, and thus must be there at the end."""

    items: dict[str, str] = field(default_factory=dict)  # URL by id
    jobs: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    calls: int = 0
    failures: list[str] = field(default_factory=list)  # that no restart accounts for
    unavailable: Counter[str] = field(default_factory=Counter)  # by process, while it restarts


@dataclass
class Process:
    """A server that is restarted, and when it was down."""

    name: str
    server: Server
    up: threading.Event = field(default_factory=threading.Event)
    down: list[tuple[float, float]] = field(default_factory=list)

    def start(self) -> None:
        self.server.start()
        self.up.set()

    def restart(self, binary: Path, *, kill: bool = False) -> float:
        """How many seconds it was away."""
        begin = time.monotonic()
        self.down.append((begin, float("inf")))
        self.up.clear()
        if kill:
            self.server.kill()
        else:
            assert self.server.stop() == 0
        self.server.binary = binary
        self.server.start()
        end = time.monotonic()
        self.down[-1] = (begin, end)
        self.up.set()
        return end - begin

    def was_down(self, begin: float, end: float) -> bool:
        return any(begin <= up_again and end >= gone for gone, up_again in self.down)


class Load(threading.Thread):
    """Writes and reads at one process until it is stopped; records what was acknowledged."""

    def __init__(self, process: Process, numbers: Iterator[int], done: Acknowledged) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._numbers = numbers
        self._done = done
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()
        self.join(timeout=300)
        assert not self.is_alive()

    def run(self) -> None:
        while not self._stopped.is_set():
            self._process.up.wait()
            # A new connection after each restart: an old one waits before it tries again.
            with self._process.server.connect(retry=winnow.NO_RETRY) as client:
                while not self._stopped.is_set() and self._round(client):
                    pass

    def _round(self, client: winnow.Winnow) -> bool:
        number = next(self._numbers)
        return all(
            self._call(what, call)
            for what, call in (
                ("BatchPutItems", lambda: self._put(client, number)),
                ("RegisterJob", lambda: self._register(client, number)),
                ("SubmitDocument", lambda: self._submit(client, number)),
                ("ListArticles", lambda: self._list(client)),
                ("BatchGetItems", lambda: self._read(client, number)),
            )
        )

    def _call(self, what: str, call: Callable[[], None]) -> bool:
        begin = time.monotonic()
        try:
            call()
        except winnow.WinnowError as error:
            if error.code == UNAVAILABLE and self._process.was_down(begin, time.monotonic()):
                self._done.unavailable[self._process.name] += 1
            else:
                self._done.failures.append(f"{self._process.name} {what}: {error}")
            return False
        self._done.calls += 1
        return True

    def _put(self, client: winnow.Winnow, number: int) -> None:
        url = f"https://outlet-{number}.example/story"
        channel = f"outlet-{number % 7}"
        title = title_of(number)
        item = winnow.Item(namespace=NAMESPACE, channel=channel, url=url, title=title)
        (stored,) = client.collector.batch_put_items([item])
        if isinstance(stored, winnow.WinnowError):
            raise stored
        self._done.items[stored.id] = url

    def _register(self, client: winnow.Winnow, number: int) -> None:
        self._done.jobs.add(client.polling.register_job(KIND, f"job-{number}").id)

    def _submit(self, client: winnow.Winnow, number: int) -> None:
        document = winnow.Document(
            namespace=f"{NAMESPACE}-documents",
            id=f"document-{number}",
            channel="outlet",
            title=title_of(number),
        )
        # Without its store dedup answers degraded: then nothing was promised.
        if client.dedup.submit_document(document).recorded:
            self._done.documents.add(document.id)

    def _list(self, client: winnow.Winnow) -> None:
        client.newsfeed.list_articles(namespace=NAMESPACE, page_size=20)

    def _read(self, client: winnow.Winnow, number: int) -> None:
        ids = list(self._done.items)
        chosen = random.Random(number).sample(ids, min(20, len(ids)))
        for each in client.collector.batch_get_items(chosen):
            if isinstance(each, winnow.WinnowError):
                raise each


def migrate(binary: Path, folder: Path, database: Database) -> Finished:
    path = folder / "migrate.json"
    path.write_text(json.dumps({"postgres": {"url": database.url}}))
    done = run_winnow("migrate", "--config", path, binary=binary)
    assert done.code == 0, done.err
    return done


def versions(database: Database) -> dict[str, int]:
    query = "SELECT max(version) FROM {}.schema_migrations"
    return {schema: int(database.run(query.format(schema))) for schema in SCHEMAS}


@pytest.fixture
def database() -> Iterator[Database]:
    postgres = Postgres()
    yield postgres.new_database("upgrade")
    postgres.close()


def check_nothing_is_lost(process: Process, done: Acknowledged, database: Database) -> None:
    """Each acknowledged item in one article, each job and each decision once."""
    with process.server.connect() as client:

        def missing() -> set[str]:
            articles = client.newsfeed.articles(namespace=NAMESPACE, page_size=100)
            return done.items.keys() - {each.id for each in articles}

        eventually(lambda: not missing(), "every acknowledged item is an article", seconds=300)
        shown = Counter(a.id for a in client.newsfeed.articles(namespace=NAMESPACE, page_size=100))
    twice = [id for id, count in shown.items() if count > 1]
    urls = database.run(
        f"SELECT url FROM newsfeed.news_articles WHERE namespace = '{NAMESPACE}'"
    ).split()
    jobs = set(database.run(f"SELECT id FROM polling.jobs WHERE kind = '{KIND}'").split())
    documents = set(
        database.run(
            f"SELECT document_id FROM dedup.decisions WHERE namespace = '{NAMESPACE}-documents'"
        ).split()
    )
    lost = len(done.items.keys() - shown.keys()) + len(done.jobs - jobs)
    lost += len(done.documents - documents)
    doubled = len(twice) + len(urls) - len(set(urls))
    print(f"acknowledged: {len(done.items)} items, {len(done.jobs)} jobs, ", end="")
    print(f"{len(done.documents)} documents; lost: {lost}; doubled: {doubled}")
    assert lost == 0
    assert doubled == 0


def test_releases_side_by_side_lose_nothing_and_fail_no_call(
    make_server: Callable[..., Server], database: Database, tmp_path: Path
) -> None:
    migrate(OLD, tmp_path, database)
    before = versions(database)
    few = {"read_connections": 4, "write_connections": 4}
    config = {"postgres": {"url": database.url, **few}, "calls": {"drain_delay": "0.2s"}}
    one, two = (Process(name, make_server(config=config, binary=OLD)) for name in ("one", "two"))
    done = Acknowledged()
    numbers = itertools.count()
    loads = [Load(process, numbers, done) for process in (one, two) for _ in range(2)]

    def goes_on(step: str, away: float | None = None) -> None:
        """Waits for further items through both processes."""
        wanted = len(done.items) + ITEMS
        eventually(lambda: len(done.items) >= wanted or done.failures, step, seconds=300)
        took = "" if away is None else f" (restarted in {away:.1f} s)"
        print(f"{step}{took}: {len(done.items)} items, {done.calls} calls, "
              f"{sum(done.unavailable.values())} unavailable")  # fmt: skip
        assert not done.failures, done.failures[:5]

    for process in (one, two):
        process.start()
    for load in loads:
        load.start()
    print()
    goes_on("old and old on the old schema")
    migrate(NEW, tmp_path, database)
    assert versions(database) == {schema: version + 1 for schema, version in before.items()}
    goes_on("old and old on the new schema")
    goes_on("old, evicted and started again", one.restart(OLD))
    goes_on("old, killed and started again", two.restart(OLD, kill=True))
    goes_on("upgraded: old and new", two.restart(NEW))
    goes_on("old beside new, killed and started again", one.restart(OLD, kill=True))
    goes_on("upgraded: new and new", one.restart(NEW))
    said = migrate(OLD, tmp_path, database).out
    assert said.count("newer than this binary's") == len(SCHEMAS), said
    goes_on("rolled back: old and new", one.restart(OLD))
    goes_on("rolled back: old and old", two.restart(OLD))
    assert versions(database) == {schema: version + 1 for schema, version in before.items()}
    goes_on("upgraded again", two.restart(NEW))
    for load in loads:
        load.stop()
    check_nothing_is_lost(two, done, database)
    print(f"calls: {done.calls}; failed: {len(done.failures)}; ", end="")
    print(f"UNAVAILABLE while a process restarted: {sum(done.unavailable.values())}")
    assert not done.failures, done.failures[:5]
    for process in (one, two):
        assert process.server.stop() == 0
