"""A stretch of real news, when it is there (WINNOW_DATA, or ../shared/data beside the clone)."""

from __future__ import annotations

import gzip
import html
import itertools
import os
from pathlib import Path

import pytest
from eventually import eventually
from winnow_process import ROOT, Serving

DATA = Path(os.environ.get("WINNOW_DATA", ROOT.parent / "shared" / "data"))
STREAM = DATA / "news" / "stream-2026-02a.jsonl.gz"
LINES = 2000


@pytest.mark.skipif(not STREAM.is_file(), reason="WINNOW_DATA holds no news: not run")
def test_real_news_goes_in_and_the_books_add_up(server: Serving, namespace: str) -> None:
    with gzip.open(STREAM, "rb") as stream:
        text = b"".join(itertools.islice(stream, LINES))
    done = server.run("import", "-", "--namespace", namespace, "--json", stdin=text, seconds=300)
    assert done.code == 0, done.err
    report = done.json()
    assert report["lines"] == LINES
    assert report["refused"] == report["undecided"] == 0
    decided = report["accepted"] + report["duplicates"]
    assert report["lines"] == report["already_present"] + decided
    assert report["duplicates"] > 0
    assert report["unknown_fields"] == {}
    assert report["alias_fields"] == {"source_name": LINES}

    with server.connect() as client:
        stored = list(client.collector.items(namespace=namespace, page_size=1000))
        assert all(each.channel_name for each in stored)
        assert not [each.title for each in stored if html.unescape(each.title) != each.title]
        items = {each.id for each in stored}
        assert len(items) == decided

        def settled() -> bool:
            """Every item is in exactly one place: the feed, a citation, or merged by address."""
            articles = list(client.newsfeed.articles(namespace=namespace, page_size=100))
            cited = sum(each.citation_count for each in articles)
            merged = report["accepted"] - len(articles)
            return bool(0 <= merged < 20 and cited == report["duplicates"])  # by address: few

        eventually(settled, "every citation is counted", seconds=120)
        articles = list(client.newsfeed.articles(namespace=namespace, page_size=100))
        assert {each.id for each in articles} <= items
