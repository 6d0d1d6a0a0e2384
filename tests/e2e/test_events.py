"""Dead letters as an operator meets them: listed, delivered again, thrown away."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from eventually import eventually
from pipeline import article, item, put
from postgres_admin import Database, socket_folder
from test_operations import grpcurl
from winnow_process import Server, new_server

import winnow
from winnow.events.v1 import events_pb2

COLLECTED = "winnow.events.v1.ItemCollected"
QUEUE = "winnow.dedup.ItemCollected.v1"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of this module's own: others count dead letters too."""
    running = new_server("events")
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[winnow.Winnow]:
    with server.connect() as connected:
        yield connected


@pytest.fixture
def make_dead(server: Server, client: winnow.Winnow) -> Iterator[Callable[[str], str]]:
    """Events of a kind in the outbox that no consumer can read; gives the id of the dead letter."""
    database = Database(socket_folder(server), "winnow")

    def make(event: str) -> str:
        before = {letter.id for letter in client.events.dead_letters()}
        database.run(
            "INSERT INTO collector.outbox (event, envelope)"
            f" VALUES ('{event}', 'secret garbage \\377')"
        )

        def found() -> str | None:
            new = [each.id for each in client.events.dead_letters() if each.id not in before]
            return new[0] if new else None

        return eventually(found, "the event is a dead letter")

    yield make
    client.events.purge_dead_letters(winnow.DeadLetterSelection(all=True))


def delivered(server: Server) -> int:
    with urllib.request.urlopen(server.metrics, timeout=60) as response:
        text = response.read().decode()
    found = re.search(r"winnow_events_delivered_total\{.*dedup.*\} (\d+)", text)
    assert found
    return int(found[1])


def test_a_dead_letter_is_listed_without_what_it_carries(
    server: Server, make_dead: Callable[[str], str]
) -> None:
    id = make_dead(COLLECTED)
    listed = server.run("events", "list")
    assert (listed.code, listed.err) == (0, "")
    assert id in listed.out
    assert QUEUE in listed.out
    assert "the payload is no winnow.events.v1.ItemCollected" in listed.out
    assert "secret" not in listed.out
    (letter,) = server.run("events", "list", "--json").json()["dead_letters"]
    assert (letter["id"], letter["queue"], letter["event"]) == (id, QUEUE, COLLECTED)
    assert server.run("events", "list", "--event", "ItemAccepted").out == "no dead letters\n"
    called = grpcurl(
        server,
        "-d",
        json.dumps({"queue": QUEUE}),
        "winnow.events.v1.DeadLetterService/ListDeadLetters",
    )
    assert called.json()["dead_letters"][0]["id"] == id


def test_a_replay_delivers_it_again(
    server: Server, client: winnow.Winnow, make_dead: Callable[[str], str], namespace: str
) -> None:
    (stored,) = put(client, [item(namespace, 1)])
    article(client, stored)
    poison = make_dead(COLLECTED)
    # What a consumer's defect had made of a good event, which the next version of it can take.
    good = events_pb2.Envelope(
        id="019c1f2e-0000-7000-8000-000000000000",
        namespace=namespace,
        item_collected=events_pb2.ItemCollected(item_id=stored.id),
    )
    Database(socket_folder(server), "winnow").run(
        f"UPDATE collector.dead_letters SET envelope = '\\x{good.SerializeToString().hex()}'"
    )
    before = delivered(server)
    dry = server.run("events", "replay", poison, "--dry-run")
    assert (dry.code, dry.out) == (0, "1 dead letters would be replayed\n")
    replayed = server.run("events", "replay", poison)
    assert (replayed.code, replayed.out) == (0, "1 dead letters replayed\n")
    eventually(lambda: delivered(server) == before + 1, "the event is delivered")
    assert list(client.events.dead_letters()) == []
    again = server.run("events", "replay", poison)
    assert again.code == 1
    assert f"is none: {poison}" in again.out


def test_what_is_still_poison_dies_again_and_can_be_purged(
    server: Server, client: winnow.Winnow, make_dead: Callable[[str], str]
) -> None:
    first = make_dead("winnow.events.v1.OfTomorrow")
    second = make_dead(COLLECTED)
    assert server.run("events", "replay", "--event", "ItemCollected").out.startswith("1 dead")
    eventually(
        lambda: {each.id for each in client.events.dead_letters()} - {first, second},
        "it is dead again",
    )
    only = server.run("events", "purge", "--queue", "collector.outbox", "--json")
    assert only.json()["dead_letter_count"] == 1
    assert server.run("events", "purge", "--all", "--dry-run").out == (
        "1 dead letters would be purged\n"
    )
    assert server.run("events", "purge", "--all").out == "1 dead letters purged\n"
    assert server.run("events", "list").out == "no dead letters\n"


def test_a_wrong_call_says_what_is_missing(server: Server, client: winnow.Winnow) -> None:
    nothing = server.run("events", "purge")
    assert nothing.code == 2
    assert "selection" in nothing.err
    with pytest.raises(winnow.InvalidArgument) as raised:
        client.events.replay_dead_letters(winnow.DeadLetterSelection(ids=["x"], all=True))
    assert [each.field for each in raised.value.violations] == ["selection.all"]
