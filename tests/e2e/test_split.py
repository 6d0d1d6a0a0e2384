"""What only processes of one target each can show; the rest of the suite runs over them too."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import yaml
from eventually import eventually
from pipeline import article, decision, feed, item, put, unalike_title
from split_world import REPLICAS, TARGETS, Split, is_called, looks_at
from winnow_process import LIMIT_SECONDS, ROOT, Server, metric

import winnow


def test_split_each_process_has_one_target(split: Split) -> None:
    assert len(TARGETS) == len(split.servers)
    for target, servers in split.servers.items():
        assert len(servers) == REPLICAS
        for server in servers:
            with server.connect(retry=winnow.NO_RETRY) as direct:
                for service, look in looks_at(direct).items():
                    if service == target:
                        look()
                    else:
                        with pytest.raises(winnow.Unimplemented):
                            look()


def test_split_a_peer_that_does_not_answer_is_told_and_waited_for(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    """Dedup reaches the collector through Envoy: without Envoy its peer is an address that does
    not answer."""
    assert split.envoy is not None

    def held() -> float:
        return sum(metric(each, "winnow_events_held") for each in split.servers["dedup"])

    eventually(lambda: held() == 0, "nothing of earlier tests is held up")
    split.envoy.close()
    try:
        with split.servers["collector"][0].connect() as direct:
            (stored,) = put(direct, [item(namespace, 9001)])
        eventually(lambda: held() >= 1, "a dedup process reports that it is held up")
        logs = "".join(each.log for each in split.servers["dedup"])
        assert '"msg":"events are held up"' in logs
    finally:
        split.envoy.start()
        split.await_serving()
    assert decision(client, stored).verdict == winnow.Verdict.VERDICT_UNIQUE
    article(client, stored)
    eventually(lambda: held() == 0, "it reports that it continues")


class Load:
    """A collector and a reader of every target that never stop, as clients with their usual
    retries."""

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
            with winnow.connect(self._split.address, timeout=LIMIT_SECONDS) as client:
                while not self._ending.is_set():
                    work(client)
        except (winnow.WinnowError, AssertionError) as error:
            self.failures.append(f"{work.__name__}: {error!r} {error}")

    def _put(self, client: winnow.Winnow) -> None:
        number = 10_000 + 3 * len(self.stored)
        batch = [item(self._namespace, number + each) for each in range(3)]
        for result in client.collector.batch_put_items(batch):
            assert not isinstance(result, winnow.WinnowError), result
            self.stored.append(result)

    def _read(self, client: winnow.Winnow) -> None:
        for look in looks_at(client).values():
            look()
        list(client.events.dead_letters())
        self.reads += 1

    def goes_on(self) -> None:
        """Returns when it has gone round once more, or failed."""
        stored, reads = len(self.stored), self.reads
        eventually(
            lambda: self.failures or (len(self.stored) > stored and self.reads > reads + 1),
            "the load goes on",
        )

    def reaches(self, servers: Sequence[Server]) -> bool:
        """Whether it has called each of these, or failed."""
        return bool(self.failures) or all(map(is_called, servers))

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()


def test_split_rolling_restarts_under_load_fail_no_call_and_lose_nothing(
    split: Split, client: winnow.Winnow, namespace: str
) -> None:
    load = Load(split, namespace)
    try:
        load.goes_on()
        for replica in range(REPLICAS):
            rolled = [servers[replica] for servers in split.servers.values()]
            split.roll(rolled)
            # As a rolling update does: the others go when these are served by again.
            eventually(partial(load.reaches, rolled), "Envoy calls them again")
            load.goes_on()
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


def test_split_a_killed_process_is_noticed_by_nobody(split: Split) -> None:
    """Envoy tries again at the other one; these clients themselves try once."""
    with split.connect(retry=winnow.NO_RETRY) as client:
        for target, look in looks_at(client).items():
            killed = split.servers[target][1]
            killed.kill()
            for _ in range(5 * REPLICAS):
                look()
            killed.start()


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
        server.launch()
    for server in killed:
        server.await_ready()

    def whole() -> list[winnow.Article] | None:
        articles = feed(client, namespace)
        cited = sum(each.citation_count for each in articles)
        return articles if (len(articles), cited) == (stories, reports) else None

    shown = eventually(whole, "each story is there once, cited as often as reported")
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
