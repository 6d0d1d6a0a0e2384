"""Compares what a load was acknowledged with what is stored afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from eventually import eventually
from leg import SERVICES, Result
from load import KIND, Load

import winnow

Stored = Callable[[winnow.Winnow, str], Iterable[str]]


def items(client: winnow.Winnow, namespace: str) -> list[str]:
    return [each.url for each in client.collector.items(namespace=namespace, page_size=1000)]


def decisions(client: winnow.Winnow, namespace: str) -> list[str]:
    found = client.dedup.decisions(namespace=f"{namespace}-direct", page_size=1000)
    return [each.document_id for each in found]


def articles(client: winnow.Winnow, namespace: str) -> list[str]:
    return [each.id for each in client.newsfeed.articles(namespace=f"{namespace}-direct")]


def jobs(client: winnow.Winnow, namespace: str) -> list[str]:
    found = client.polling.jobs(KIND, page_size=1000)
    return [each.id for each in found if each.id.startswith(f"{namespace}.")]


STORED: dict[str, Stored] = {
    "collector": items,
    "dedup": decisions,
    "newsfeed": articles,
    "polling": jobs,
}


def compare(load: Load, client: winnow.Winnow, query: Callable[[str], str], result: Result) -> None:
    """Fills in the counts of `result`. `query` asks the surviving database."""
    load.end()
    result.acknowledged += load.count()
    result.add_unavailable(load.unavailable())
    for service in (each for each in SERVICES if load.acknowledged(each)):
        if service == "classification":
            stored = videos(query, load.namespace)
        else:
            stored = list(STORED[service](client, load.namespace))
        missing = load.acknowledged(service) - set(stored)
        result.lost += [f"{service} {key}" for key in missing]
        result.duplicated += [f"{service} {key}" for key, n in Counter(stored).items() if n > 1]
    if load.acknowledged("collector"):
        check_pipeline(client, load, result)


def videos(query: Callable[[str], str], namespace: str) -> list[str]:
    """One name for each comment: the API lists comments of a classified video only."""
    rows = query(
        "SELECT v.video_id FROM classification.videos v JOIN classification.comments c"
        f" ON c.video = v.number WHERE v.namespace = '{namespace}'"
    )
    return rows.split()


def check_pipeline(client: winnow.Winnow, load: Load, result: Result) -> None:
    """Each acknowledged item becomes one article, decided once."""
    wanted = {
        each.id: each.url
        for each in client.collector.items(namespace=load.namespace, page_size=1000)
    }

    def shown() -> Counter[str]:
        return Counter(each.id for each in client.newsfeed.articles(namespace=load.namespace))

    try:
        eventually(lambda: wanted.keys() <= shown().keys(), "items are articles", seconds=60)
    except AssertionError:
        absent = wanted.keys() - shown().keys()
        result.lost += [f"article of {wanted[each]}" for each in absent]
    counted = shown()
    result.duplicated += [f"article {each}" for each, n in counted.items() if n > 1]
    found = client.dedup.decisions(namespace=load.namespace, page_size=1000)
    decided = Counter(each.document_id for each in found)
    result.duplicated += [f"decision {each}" for each, n in decided.items() if n > 1]
