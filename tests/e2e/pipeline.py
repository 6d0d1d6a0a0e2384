"""Items through the whole pipeline, for tests: put them in and wait until each is decided."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone

from eventually import eventually
from split_world import REPLICAS

import winnow

# In the past, and not as far as anything that forgets: what arrives "later" is not in the future.
START = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(days=3)


def item(
    namespace: str,
    number: int,
    *,
    title: str = "",
    channel: str = "",
    url: str = "",
    hours: float = 0.0,
    categories: Sequence[str] = (),
) -> winnow.Item:
    """An item that repeats no other one, unless asked to. It arrives `hours` after START."""
    made = winnow.Item(
        namespace=namespace,
        channel=channel or f"channel-{number}",
        url=url or f"https://outlet-{number}.example/story/{number}",
        title=title or unalike_title(number),
        source_categories=categories,
    )
    moment = START + timedelta(hours=hours)
    made.publish_time.FromDatetime(moment)
    made.arrival_time.FromDatetime(moment)
    return made


def unalike_title(number: int) -> str:
    """A headline that shares nothing with that of another number; every other one is Korean."""
    chance = random.Random(number)
    if number % 2:
        return " ".join(
            "".join(chr(chance.randrange(0xAC00, 0xD7A4)) for _ in range(3)) for _ in range(6)
        )
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(chance.choices(letters, k=7)) for _ in range(6)).capitalize()


def put(client: winnow.Winnow, items: Iterable[winnow.Item]) -> list[winnow.Item]:
    """Stores the items, all of which must be accepted, and reads them back."""
    ids = []
    for result in client.collector.batch_put_items(list(items)):
        assert isinstance(result, winnow.StoredItem), result
        ids.append(result.id)
    return [client.collector.get_item(id) for id in ids]


def put_in_turn(client: winnow.Winnow, items: Iterable[winnow.Item]) -> list[winnow.Item]:
    """Puts each when the one before is through: events are unordered, so that of two that are on
    their way at once either may be the first."""
    stored: list[winnow.Item] = []
    for each in items:
        if stored and decision(client, stored[-1]).verdict == winnow.Verdict.VERDICT_UNIQUE:
            article(client, stored[-1])
        stored += put(client, [each])
    return stored


def await_feed(
    client: winnow.Winnow, namespace: str, ids: Iterable[str], category: str = ""
) -> None:
    """Until the feed shows these articles and no other, whichever process is asked: of several one
    may have what another still reads, so they are asked in turn."""
    wanted = sorted(ids)

    def shows() -> bool:
        looks = [feed(client, namespace, category) for _ in range(2 * REPLICAS)]
        return all(sorted(each.id for each in look) == wanted for look in looks)

    eventually(shows, f"the feed of {namespace} shows {wanted}")


def decision(client: winnow.Winnow, stored: winnow.Item) -> winnow.Decision:
    def probe() -> winnow.Decision | None:
        try:
            return client.dedup.get_decision(stored.id, namespace=stored.namespace)
        except winnow.NotFound:
            return None

    return eventually(probe, f"a decision on item {stored.id}")


def article(client: winnow.Winnow, stored: winnow.Item) -> winnow.Article:
    def probe() -> winnow.Article | None:
        try:
            return client.newsfeed.get_article(stored.id, namespace=stored.namespace)
        except winnow.NotFound:
            return None

    return eventually(probe, f"the article of item {stored.id}")


def feed(client: winnow.Winnow, namespace: str, category: str = "") -> list[winnow.Article]:
    return list(client.newsfeed.articles(namespace=namespace, category_id=category, page_size=100))
