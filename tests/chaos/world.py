"""A made-up world of stories and reports, and the check that each report ends in one place."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass

from eventually import eventually

import winnow

STORIES = 900
NAMESPACE = "chaos"


@dataclass
class World:
    """What goes in: stories that one outlet or several report."""

    lines: list[str]
    items: int  # distinct ones


def word(chance: random.Random) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7))


def make_world(chance: random.Random) -> World:
    lines: list[dict[str, object]] = []
    for story in range(STORIES):
        title = " ".join(word(chance) for _ in range(6))
        for report in range(chance.choice((1, 1, 1, 2, 3))):
            channel = f"outlet-{report}"
            shown = title if report < 2 else f"[속보] {title}"
            url = f"https://{channel}.example/{story}"
            lines.append({"url": url, "title": shown, "channel": channel})
    chance.shuffle(lines)
    items = len(lines)
    # Some lines come twice: the second is already present, whatever was killed in between.
    lines += [dict(line) for line in chance.sample(lines, 50)]
    chance.shuffle(lines)
    for number, each in enumerate(lines):
        each["published_at"] = f"-{2 * 3600 - number}s"
    return World([json.dumps(each, ensure_ascii=False) for each in lines], items)


def check_places(client: winnow.Winnow, world: World) -> None:
    """Every item is in exactly one place: an article, or a citation of one."""
    items = list(client.collector.items(namespace=NAMESPACE, page_size=1000))
    assert len(items) == world.items
    assert len({each.id for each in items}) == world.items

    decisions = [client.dedup.get_decision(each.id, namespace=NAMESPACE) for each in items]
    originals = {
        each.document_id: each.original_id
        for each in decisions
        if each.verdict == winnow.Verdict.VERDICT_DUPLICATE
    }
    unique = {each.document_id for each in decisions} - originals.keys()
    assert all(original in unique for original in originals.values())

    def articles() -> list[winnow.Article]:
        return list(client.newsfeed.articles(namespace=NAMESPACE, page_size=100))

    def settled() -> bool:
        found = articles()
        cited = sum(each.citation_count for each in found)
        return len(found) >= len(unique) and cited >= len(originals)

    eventually(settled, "articles and citations are as decided", seconds=120)
    shown = articles()
    assert sorted(each.id for each in shown) == sorted(unique)
    counted = Counter(originals.values())
    assert {each.id: each.citation_count for each in shown if each.citation_count} == counted
    sample = [each.id for each in shown if each.citation_count][:20]
    for id in sample:
        listed = {each.document_id for each in client.dedup.duplicates(id, namespace=NAMESPACE)}
        assert listed == {item for item, original in originals.items() if original == id}
