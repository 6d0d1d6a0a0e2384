"""The suite of the pipeline once more, over processes of one target each; what only they can show.

The tests of test_pipeline and test_bad_input are collected here a second time, with this module's
server and client: two processes of each target, PostgreSQL, RabbitMQ and Envoy.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import test_bad_input
import test_pipeline
import yaml
from eventually import eventually
from pipeline import article, decision, feed, item, put, unalike_title
from split_world import REPLICAS, TARGETS, Split
from winnow_process import ROOT, Server, run_winnow

import winnow

for _suite in (test_pipeline, test_bad_input):
    globals().update(
        {name: test for name, test in vars(_suite).items() if name.startswith("test_")}
    )


def is_called(server: Server) -> bool:
    return server.metric("winnow_rpc_requests_total") > 0


@pytest.fixture(scope="module")
def split() -> Iterator[Split]:
    world = Split()
    try:
        yield world.start()
    finally:
        world.close()


@pytest.fixture(scope="module")
def client(split: Split) -> Iterator[winnow.Winnow]:
    with split.connect() as connected:
        yield connected


def test_split_each_process_has_one_target(split: Split) -> None:
    for target in TARGETS:
        assert len(split.servers[target]) == REPLICAS
        for server in split.servers[target]:
            with server.connect(retry=winnow.NO_RETRY) as direct:
                if target == "newsfeed":
                    direct.newsfeed.list_articles()
                else:
                    with pytest.raises(winnow.Unimplemented):
                        direct.newsfeed.list_articles()


def test_split_commands_work_through_the_mesh(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    samples = str(ROOT / "samples" / "items-ko-en.jsonl")
    where = ("--address", split.address, "--namespace", namespace)
    state = {"XDG_STATE_HOME": str(split.folder)}
    done = run_winnow("import", samples, *where, "--json", environment=state)
    assert done.code == 0, done.err
    report = done.json()
    decided = report["accepted"] + report["duplicates"]
    assert report["lines"] == report["already_present"] + decided
    # Of two reports that two processes decide at once either may be the first, but each story is
    # shown, once: an item that comes back after the window is merged into its article.
    items = {each.id: each for each in client.collector.items(namespace=namespace)}
    unique = [
        each
        for each in items.values()
        if decision(client, each).verdict == winnow.Verdict.VERDICT_UNIQUE
    ]
    assert len(unique) == report["accepted"]
    stories = sorted({each.canonical_url for each in unique})
    eventually(
        lambda: sorted(items[each.id].canonical_url for each in feed(client, namespace)) == stories,
        "every accepted item is shown",
    )
    dead = run_winnow("events", "list", "--address", split.address)
    assert dead.out == "no dead letters\n", dead.err


def test_split_a_peer_that_does_not_answer_is_told_and_waited_for(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    """Dedup reaches the collector through Envoy: without Envoy its peer is an address that does
    not answer."""
    assert split.envoy is not None

    def held() -> float:
        return sum(each.metric("winnow_events_held") for each in split.servers["dedup"])

    assert held() == 0
    split.envoy.close()
    try:
        with split.servers["collector"][0].connect() as direct:
            (stored,) = put(direct, [item(namespace, 9001)])
        eventually(lambda: held() == 1, "a dedup process tells that it is held up")
        logs = "".join(each.log for each in split.servers["dedup"])
        assert '"msg":"events are held up"' in logs
    finally:
        split.envoy.start()
        eventually(split.serves, "Envoy is back", unless=split.envoy.why_not)
    assert decision(client, stored).verdict == winnow.Verdict.VERDICT_UNIQUE
    article(client, stored)
    eventually(lambda: held() == 0, "it tells that it goes on")


class Load:
    """A collector and a reader that never stop, as clients with their usual retries."""

    def __init__(self, split: Split, namespace: str) -> None:
        self.stored: list[winnow.StoredItem] = []
        self.reads = 0
        self.failures: list[str] = []
        self._split = split
        self._namespace = namespace
        self._ending = threading.Event()
        self._threads = [
            threading.Thread(target=self._guard, args=(each,)) for each in (self._put, self._read)
        ]
        for thread in self._threads:
            thread.start()

    def _guard(self, work: Any) -> None:
        try:
            with self._split.connect() as client:
                while not self._ending.is_set():
                    work(client)
        except (winnow.WinnowError, AssertionError) as error:
            self.failures.append(f"{work.__name__}: {error}")

    def _put(self, client: winnow.Winnow) -> None:
        number = 10_000 + 3 * len(self.stored)
        batch = [item(self._namespace, number + each) for each in range(3)]
        for result in client.collector.batch_put_items(batch):
            assert not isinstance(result, winnow.WinnowError), result
            self.stored.append(result)

    def _read(self, client: winnow.Winnow) -> None:
        client.newsfeed.list_articles(namespace=self._namespace)
        next(client.collector.items(namespace=self._namespace), None)
        client.dedup.check_document(
            winnow.Document(namespace=self._namespace, channel="c", title="Is it still there")
        )
        list(client.events.dead_letters())
        self.reads += 1

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()


def test_split_rolling_restarts_under_load_fail_no_call_and_lose_nothing(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    load = Load(split, namespace)
    try:
        for target, server in split.named():
            done = (len(load.stored), load.reads)
            split.restart(server)
            if target in ("collector", "dedup", "newsfeed"):  # those that the load calls
                # As a rolling update does: the next goes when this one is served by again.
                eventually(partial(is_called, server), f"Envoy calls the {target} again")
            eventually(
                lambda done=done: (  # type: ignore[misc]
                    load.failures or (len(load.stored) > done[0] and load.reads > done[1])
                ),
                "the load goes on",
            )
    finally:
        load.end()
    assert load.failures == []
    ids = {each.id for each in load.stored}
    eventually(
        lambda: (
            {each.id for each in client.newsfeed.articles(namespace=namespace, page_size=100)}
            == ids
        ),
        "every item is an article",
    )
    assert list(client.events.dead_letters()) == []


def test_split_kills_of_the_broker_and_of_processes_lose_nothing_and_double_nothing(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    assert split.broker is not None
    stories, reports = 60, 30
    put(client, [item(namespace, 20_000 + each) for each in range(stories)])
    split.broker.kill()
    # What is put now waits in the outbox. Each is reported once more, by another channel.
    put(
        client,
        [
            item(namespace, 30_000 + each, title=unalike_title(20_000 + each))
            for each in range(reports)
        ],
    )
    killed = [split.servers[target][0] for target in ("collector", "dedup", "newsfeed")]
    for server in killed:
        server.kill()
    split.broker.start()
    for server in killed:
        server.arguments = [*server.arguments[:2], "--listen", server.address]
        server.start()

    def counted() -> tuple[int, int]:
        articles = feed(client, namespace)
        return len(articles), sum(each.citation_count for each in articles)

    eventually(
        lambda: counted() == (stories, reports), "each story is there once, cited as often as told"
    )
    shown = feed(client, namespace)
    listed = [
        each.document_id
        for cited in shown
        if cited.citation_count
        for each in client.dedup.duplicates(cited.id, namespace=namespace)
    ]
    assert len(listed) == len(set(listed)) == reports
    assert list(client.events.dead_letters()) == []


def test_split_the_chart_publishes_the_topology_that_winnow_declares(split: Split) -> None:
    """What `helm template` makes of the topology, beside what is on the broker."""
    helm = os.environ.get("HELM", str(ROOT / ".tools" / "bin" / "helm"))
    values = ["postgres.url=postgres://w@db/w", "events.url=amqp://w@mq/v"]
    values += ["events.topology.enabled=true"]
    sets = [argument for value in values for argument in ("--set", value)]
    rendered = subprocess.run(
        [helm, "template", "w", str(ROOT / "helm" / "winnow"), "--kube-version", "1.30.0", *sets],
        capture_output=True,
        text=True,
        check=True,
    )
    published: dict[str, list[Any]] = {"Exchange": [], "Queue": [], "Binding": []}
    for manifest in yaml.safe_load_all(rendered.stdout):
        if manifest is not None and manifest["kind"] in published:
            published[manifest["kind"]].append(manifest["spec"])

    assert split.broker is not None
    declared = split.broker.definitions()
    assert {each["name"]: shape(each, "auto_delete") for each in declared["queues"]} == {
        each["name"]: shape(each, "autoDelete") for each in published["Queue"]
    }
    assert {(each["name"], each["type"], each["durable"]) for each in declared["exchanges"]} == {
        (each["name"], each["type"], each["durable"]) for each in published["Exchange"]
    }
    assert {
        (each["source"], each["destination"], each["routing_key"]) for each in declared["bindings"]
    } == {
        (each["source"], each["destination"], each["routingKey"]) for each in published["Binding"]
    }


def shape(queue: dict[str, Any], auto_delete: str) -> tuple[bool, bool, list[tuple[str, Any]]]:
    return queue["durable"], queue[auto_delete], sorted(queue["arguments"].items())
