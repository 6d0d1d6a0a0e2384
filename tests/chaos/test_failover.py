"""A standby is promoted while writers run at full rate: what was acknowledged is there afterwards.

The old primary is frozen first and returns unfenced: it accepts writes on an abandoned timeline.
WINNOW_FAILOVER_ROUNDS (1) sizes it.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from eventually import eventually
from postgres_cluster import PostgresCluster
from winnow_process import Server

import winnow

ROUNDS = int(os.environ.get("WINNOW_FAILOVER_ROUNDS", "1"))
NAMESPACE = "failover"
# How long the primary is frozen, at least; and how long writers go on before and after.
FROZEN_SECONDS = 3.0
WRITES = 60
CALL_SECONDS = 10.0

Write = Callable[[winnow.Winnow, str], bool]


def put_item(client: winnow.Winnow, name: str) -> bool:
    item = winnow.Item(namespace=NAMESPACE, url=f"https://news.example/{name}", title=f"T {name}")
    item.channel = "outlet"
    (stored,) = client.collector.batch_put_items([item])
    return not isinstance(stored, winnow.WinnowError)


def submit_document(client: winnow.Winnow, name: str) -> bool:
    document = winnow.Document(
        namespace=NAMESPACE, id=name, channel="outlet", title=f"Title {name}"
    )
    return client.dedup.submit_document(document).recorded


def register_job(client: winnow.Winnow, name: str) -> bool:
    client.polling.register_job("stt", name)
    return True


WRITES_OF: dict[str, Write] = {"item": put_item, "document": submit_document, "job": register_job}
STORED: dict[str, str] = {
    "item": "SELECT regexp_replace(url, '^.*/', '') FROM collector.items",
    "document": "SELECT document_id FROM dedup.decisions",
    "job": "SELECT id FROM polling.jobs",
}


class Writer(threading.Thread):
    """Writes until it is stopped; what fails is sent again, as callers do."""

    def __init__(self, server: Server, kind: str, number: int) -> None:
        super().__init__(daemon=True)
        self.kind = kind
        self.acknowledged: list[str] = []
        self.longest_pause = 0.0
        self.failure: BaseException | None = None
        self._names = (f"{kind}-{number}-{each}" for each in itertools.count())
        self._server = server
        self._ended = threading.Event()

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        write = WRITES_OF[self.kind]
        last = time.monotonic()
        try:
            with self._server.connect(timeout=CALL_SECONDS, retry=winnow.NO_RETRY) as client:
                for name in self._names:
                    while not self._is_written(write, client, name):
                        if self._ended.wait(0.02):
                            return
                    self.acknowledged.append(name)
                    now = time.monotonic()
                    self.longest_pause = max(self.longest_pause, now - last)
                    last = now
                    if self._ended.is_set():
                        return
        except BaseException as raised:
            self.failure = raised

    @staticmethod
    def _is_written(write: Write, client: winnow.Winnow, name: str) -> bool:
        try:
            return write(client, name)
        except (winnow.Unavailable, winnow.DeadlineExceeded, winnow.ResourceExhausted):
            return False


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    made = PostgresCluster()
    yield made
    made.close()


def settings(cluster: PostgresCluster) -> dict[str, object]:
    url = cluster.new_database("winnow")
    return {"postgres": {"url": url, "migrate_on_start": True}}


def all_have_written(writers: list[Writer], count: int) -> Callable[[], bool]:
    before = [len(writer.acknowledged) for writer in writers]

    def enough() -> bool:
        for writer in writers:
            if writer.failure is not None:
                raise writer.failure
        done = zip(writers, before, strict=True)
        return all(len(writer.acknowledged) >= start + count for writer, start in done)

    return enough


def report(writers: list[Writer], cluster: PostgresCluster) -> dict[str, list[str]]:
    """What was acknowledged and is not on the new primary."""
    lost: dict[str, list[str]] = {}
    for kind, statement in STORED.items():
        stored = set(cluster.standby.query(statement, "winnow").split())
        mine = [writer for writer in writers if writer.kind == kind]
        names = [name for writer in mine for name in writer.acknowledged]
        lost[kind] = sorted(set(names) - stored)
        pause = max(writer.longest_pause for writer in mine)
        print(f"{kind}: acknowledged {len(names)}, lost {len(lost[kind])}, paused {pause:.1f} s")
    return lost


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_an_unfenced_old_primary_takes_no_acknowledged_write(
    cluster: PostgresCluster, make_server: Callable[..., Server], _round: int
) -> None:
    config = settings(cluster)
    servers = [make_server(config=config).start() for _ in range(2)]
    writers = [
        Writer(server, kind, number) for number, server in enumerate(servers) for kind in STORED
    ]
    for writer in writers:
        writer.start()
    eventually(all_have_written(writers, WRITES), "writes before the failover")

    cluster.freeze_primary()
    frozen = time.monotonic()
    cluster.promote_standby()
    left = FROZEN_SECONDS - (time.monotonic() - frozen)
    threading.Event().wait(max(left, 0.0))  # what is tested: a silence of this length
    cluster.resume_old_primary()
    eventually(all_have_written(writers, WRITES), "writes after the failover")
    for writer in writers:
        writer.stop()

    assert report(writers, cluster) == {kind: [] for kind in STORED}
    assert not cluster.primary.in_recovery()  # it still accepts writes, from others
    for server in servers:
        assert 'winnow_postgres_hosts{state="old_timeline"} 1' in server.scrape()
