"""A process that hangs without ending (SIGSTOP: a stuck node, a swapping machine) while it holds
events of the broker: others process them, and what it does after it wakes changes nothing."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from eventually import eventually
from pipeline import feed, item
from split_world import Split
from winnow_process import Server, metric

import winnow

ITEMS = 300
# Missed heartbeats close the frozen process's connection within 12 s, and then the other process
# decides; the rest is for a busy machine. With heartbeats of 30 s it took over a minute.
BOUND_SECONDS = 45.0
# Dedup and newsfeed read items within 5 s, or from another process; it was 30 s once.
COLLECTOR_BOUND_SECONDS = 28.0
ROUNDS = 3  # whether a read goes to the frozen process is chance


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


def put_all(server: Server, namespace: str, first: int) -> set[str]:
    """Stores ITEMS unlike items; returns their ids."""
    items = [item(namespace, first + each) for each in range(ITEMS)]
    with server.connect() as direct:
        results = direct.collector.batch_put_items(items)
    assert all(isinstance(each, winnow.StoredItem) for each in results)
    return {each.id for each in results if isinstance(each, winnow.StoredItem)}


def decided(split: Split, namespace: str) -> int:
    """As stored: a call might go to the frozen process."""
    where = f"WHERE namespace = '{namespace}'"
    return int(split.database().run(f"SELECT count(*) FROM dedup.decisions {where}"))


def articles(split: Split, namespace: str) -> int:
    where = f"WHERE namespace = '{namespace}'"
    return int(split.database().run(f"SELECT count(*) FROM newsfeed.news_articles {where}"))


def connects(server: Server) -> float:
    return metric(server, "winnow_broker_connects_total", 'connection="dedup"')


def test_split_events_of_a_frozen_process_are_decided_by_another_and_only_once(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    asleep = split.servers["dedup"][0]
    before = connects(asleep)
    with frozen(asleep):
        began = time.monotonic()
        ids = put_all(split.servers["collector"][0], namespace, 40_000)
        eventually(
            lambda: decided(split, namespace) == ITEMS,
            "the process that runs decides all items",
            seconds=BOUND_SECONDS,
        )
        print(f"all {ITEMS} items decided after {time.monotonic() - began:.1f} s")
    eventually(lambda: connects(asleep) > before, "the process that woke connects again")
    # Both take part again, and what the woken one still had in its hands is not decided twice.
    delivered = metric(asleep, "winnow_events_delivered_total", "ItemCollected")
    ids |= put_all(split.servers["collector"][0], namespace, 50_000)
    eventually(
        lambda: metric(asleep, "winnow_events_delivered_total", "ItemCollected") > delivered,
        "the process that woke takes events again",
    )
    eventually(
        lambda: sorted(each.id for each in feed(client, namespace)) == sorted(ids),
        "every item is an article, once",
    )
    assert decided(split, namespace) == 2 * ITEMS
    verdicts = {client.dedup.get_decision(each, namespace=namespace).verdict for each in ids}
    assert verdicts == {winnow.Verdict.VERDICT_UNIQUE}
    assert list(client.events.dead_letters()) == []


def test_split_a_frozen_collector_delays_the_items_of_the_other_by_one_read_of_a_peer(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    ids: set[str] = set()
    for number in range(ROUNDS):
        split.await_serving()
        with frozen(split.servers["collector"][0]):
            began = time.monotonic()
            ids.update(put_all(split.servers["collector"][1], namespace, 60_000 + number * 10_000))
            eventually(
                lambda: articles(split, namespace) == len(ids),
                "all items are articles",
                seconds=COLLECTOR_BOUND_SECONDS,
            )
            print(f"all {ITEMS} items articles after {time.monotonic() - began:.1f} s")
    # Reads that timed out were repeated: nothing was given up, or done twice.
    assert sorted(each.id for each in feed(client, namespace)) == sorted(ids)
    assert decided(split, namespace) == len(ids)
    assert list(client.events.dead_letters()) == []
