"""Pairs of one story race over several servers on one PostgreSQL: exactly one of each may pass.

Servers are killed by -9 and the rules of the namespace change meanwhile. WINNOW_RACE_PAIRS (300)
and WINNOW_RACE_KILLS (3) size it; ./x chaos dedup runs 100,000 pairs.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial

from eventually import eventually
from postgres_admin import Database
from winnow_process import Server

import winnow

PAIRS = int(os.environ.get("WINNOW_RACE_PAIRS", "300"))
KILLS = int(os.environ.get("WINNOW_RACE_KILLS", "3"))
INSTANCES = int(os.environ.get("WINNOW_RACE_INSTANCES", "3"))
SEED = int(os.environ.get("WINNOW_CHAOS_SEED", "20260201"))
NAMESPACE = "race"


def title_of(pair: int) -> str:
    chance = random.Random(pair)
    return " ".join("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(6))


def documents_of(instance: int) -> Iterator[winnow.Document]:
    """The sides of all pairs that are sent to this server; the other side goes to another one."""
    for pair in range(PAIRS):
        for side in (0, 1):
            if (pair + side) % INSTANCES == instance:
                title = title_of(pair)
                yield winnow.Document(
                    namespace=NAMESPACE,
                    id=f"{pair}-{side}",
                    channel=f"outlet-{side}",
                    title=title if side == 0 else f"[속보] {title}…",
                )


def is_recorded(client: winnow.Winnow, document: winnow.Document) -> bool:
    return client.dedup.submit_document(document).recorded


class Sender(threading.Thread):
    """Streams a server's share, until each document's decision is stored."""

    def __init__(self, server: Server, instance: int) -> None:
        super().__init__()
        self.answered = 0
        self.failure: BaseException | None = None
        self._server = server
        self._instance = instance

    def run(self) -> None:
        try:
            with self._server.connect() as client:
                documents = documents_of(self._instance)
                for document, decision in client.dedup.ingest_documents(
                    documents, idle_timeout=600.0
                ):
                    assert isinstance(decision, winnow.Decision), decision
                    if not decision.recorded:  # while a killed server's lock is not free yet
                        eventually(
                            partial(is_recorded, client, document), f"{document.id} is recorded"
                        )
                    self.answered += 1
        except BaseException as raised:
            self.failure = raised


def change_rules(server: Server, number: int) -> None:
    """To others by which each pair still is one; a server killed meanwhile is asked again."""
    policy = winnow.Policy(
        token_threshold=0.7 + 0.05 * (number % 4), candidate_floor=0.5 if number % 2 else 0.4
    )
    with server.connect() as client:
        client.dedup.update_policy(
            policy,
            ["token_threshold", "candidate_floor"],
            namespace=NAMESPACE,
            request_id=f"change-{number}",
        )


def kill_and_restart(server: Server) -> None:
    server.kill()
    server.start()


def assert_one_of_each_pair(database: Database) -> None:
    rows = database.run(
        "SELECT document_id, seq, verdict, coalesce(original_id, '') FROM dedup.decisions"
        f" WHERE namespace = '{NAMESPACE}'"
    )
    decided = {row.split("|")[0]: row.split("|")[1:] for row in rows.splitlines()}
    assert len(decided) == 2 * PAIRS
    wrong = []
    for pair in range(PAIRS):
        sides = sorted((int(decided[f"{pair}-{side}"][0]), side) for side in (0, 1))
        first, second = (f"{pair}-{side}" for _, side in sides)
        # What a serial replay in order of seq decides: the earlier passes, the later repeats it.
        if decided[first][1:] != ["1", ""] or decided[second][1:] != ["2", first]:
            wrong.append((decided[first], decided[second]))
    assert not wrong, wrong[:5]
    gaps = database.run(
        "SELECT head - (SELECT count(*) FROM dedup.entries WHERE namespace = stream)"
        f" FROM dedup.log_streams WHERE stream = '{NAMESPACE}'"
    )
    assert gaps.strip() == "0"


def test_of_racing_pairs_one_passes_whatever_is_killed_or_changed(
    make_server: Callable[..., Server],
) -> None:
    chance = random.Random(SEED)
    host = make_server().start()
    database = host.database().sibling("race")
    # All share one PostgreSQL: its connections are theirs, those of the killed for a while too.
    few = {"read_connections": 4, "write_connections": 4}
    config = {"postgres": {"url": database.url, "migrate_on_start": True, **few}}
    servers = [make_server(config=config).start() for _ in range(INSTANCES)]
    senders = [Sender(server, number) for number, server in enumerate(servers)]
    for sender in senders:
        sender.start()
    for kill in range(KILLS):
        wanted = 2 * PAIRS * (kill + 1) // (KILLS + 2)

        def is_time(wanted: int = wanted) -> bool:
            failed = any(each.failure for each in senders)
            return failed or sum(each.answered for each in senders) >= wanted

        eventually(is_time, f"{wanted} are decided, for kill {kill} of seed {SEED}", seconds=600)
        change_rules(servers[kill % INSTANCES], kill)
        kill_and_restart(chance.choice(servers))
    for sender in senders:
        sender.join(timeout=1200)
        assert not sender.is_alive()
        assert sender.failure is None, sender.failure
    assert_one_of_each_pair(database)
    versions = database.run(
        f"SELECT max(version) FROM dedup.policies WHERE namespace = '{NAMESPACE}'"
    )
    assert int(versions) > 1
    with servers[0].connect() as client:
        changed = winnow.Policy(chain_floor=0.6)
        if PAIRS <= 50_000:  # twice as many documents are what a preview replays
            replay = client.dedup.preview_policy(
                changed, ["chain_floor"], namespace=NAMESPACE, max_documents=2 * PAIRS
            )
            assert replay.document_count == 2 * PAIRS
            assert replay.duplicate_count_before == PAIRS
    for server in servers:
        assert server.stop() == 0
