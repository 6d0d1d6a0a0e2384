"""Dead letters as an operator meets them: listed, delivered again, thrown away."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator

import pytest
from eventually import eventually
from pipeline import article, item, put
from test_operations import grpcurl
from winnow_process import Server, Serving, metric

import winnow
from winnow.events.v1 import events_pb2

COLLECTED = "winnow.events.v1.ItemCollected"
QUEUE = "winnow.dedup.ItemCollected.v1"
_numbers = itertools.count(1)


@pytest.fixture
def make_dead(server: Serving, client: winnow.Winnow) -> Iterator[Callable[[str], str]]:
    """Events of a kind in the outbox that no consumer can read; gives the id of the dead letter."""
    database = server.database()

    def make(event: str) -> str:
        before = {letter.id for letter in client.events.dead_letters()}
        database.run(
            "INSERT INTO collector.outbox (event, envelope)"
            f" VALUES ('{event}', 'secret garbage {next(_numbers)} \\377')"
        )

        def found() -> str | None:
            new = [each.id for each in client.events.dead_letters() if each.id not in before]
            return new[0] if new else None

        return eventually(found, "the event is a dead letter")

    yield make
    client.events.purge_dead_letters(winnow.DeadLetterSelection(all=True))


def delivered(server: Serving) -> float:
    return metric(server, "winnow_events_delivered_total", "dedup")


def test_a_dead_letter_is_listed_without_what_it_carries(
    server: Serving, make_dead: Callable[[str], str]
) -> None:
    id = make_dead(COLLECTED)
    listed = server.run("events", "list")
    assert (listed.code, listed.err) == (0, "")
    assert id in listed.out
    assert QUEUE in listed.out
    assert "the payload is not a winnow.events.v1.ItemCollected" in listed.out
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


@pytest.mark.one_process("repairs the letter in its table; RabbitMQ's cannot be repaired")
def test_a_replay_delivers_it_again(
    single: Server, client: winnow.Winnow, make_dead: Callable[[str], str], namespace: str
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
    single.database().run(
        f"UPDATE collector.dead_letters SET envelope = '\\x{good.SerializeToString().hex()}'"
    )
    before = delivered(single)
    dry = single.run("events", "replay", poison, "--dry-run")
    assert (dry.code, dry.out) == (0, "1 dead letters would be replayed\n")
    replayed = single.run("events", "replay", poison)
    assert (replayed.code, replayed.out) == (0, "1 dead letters replayed\n")
    eventually(lambda: delivered(single) > before, "the event is delivered")
    assert list(client.events.dead_letters()) == []
    again = single.run("events", "replay", poison)
    assert again.code == 1
    assert f"is none: {poison}" in again.out


def deaths(server: Serving) -> int:
    return server.log.count('"msg":"event is a dead letter"')


def test_what_is_still_poison_dies_again_and_can_be_purged(
    server: Serving, client: winnow.Winnow, make_dead: Callable[[str], str]
) -> None:
    make_dead(COLLECTED)
    make_dead(COLLECTED)
    before = deaths(server)
    assert server.run("events", "replay", "--event", "ItemCollected").out.startswith("2 dead")
    eventually(lambda: deaths(server) == before + 2, "they are dead again")
    eventually(lambda: len(list(client.events.dead_letters())) == 2, "they are listed again")
    assert server.run("events", "purge", "--all", "--dry-run").out == (
        "2 dead letters would be purged\n"
    )
    only = server.run("events", "purge", "--queue", QUEUE, "--json")
    assert only.json()["dead_letter_count"] == 2
    assert server.run("events", "list").out == "no dead letters\n"


@pytest.mark.one_process("RabbitMQ may have somebody else who takes it")
def test_an_event_that_nobody_takes_is_a_dead_letter_of_the_outbox(
    single: Server, make_dead: Callable[[str], str]
) -> None:
    id = make_dead("winnow.events.v1.OfTomorrow")
    (letter,) = single.run("events", "list", "--json").json()["dead_letters"]
    assert (letter["id"], letter["queue"]) == (id, "collector.outbox")
    purged = single.run("events", "purge", "--queue", "collector.outbox")
    assert purged.out == "1 dead letters purged\n"


def test_a_wrong_call_says_what_is_missing(server: Serving, client: winnow.Winnow) -> None:
    nothing = server.run("events", "purge")
    assert nothing.code == 2
    assert "selection" in nothing.err
    with pytest.raises(winnow.InvalidArgument) as raised:
        client.events.replay_dead_letters(winnow.DeadLetterSelection(ids=["x"], all=True))
    assert [each.field for each in raised.value.violations] == ["selection.all"]
