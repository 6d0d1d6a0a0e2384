#!/usr/bin/env python3
"""A small collector: one RSS or Atom feed into Winnow, then the first page of what came out.

    collect_feed.py examples/sample_feed.xml
    collect_feed.py https://example.org/news.rss --channel example --namespace demo

Safe to run again and again, e.g. by cron: items that are known already stay as they are.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
import time
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import winnow

MAX_FEED_BYTES = 10 * 1024 * 1024
FETCH_TIMEOUT_SECONDS = 20
ATOM = "{http://www.w3.org/2005/Atom}"


def read_source(source: str) -> bytes:
    """The feed's bytes: a URL, a file, or "-" for standard input."""
    if source == "-":
        data = sys.stdin.buffer.read(MAX_FEED_BYTES + 1)
    elif urlsplit(source).scheme in ("http", "https"):
        request = urllib.request.Request(source, headers={"User-Agent": "winnow-collect-feed"})
        with urllib.request.urlopen(request, timeout=FETCH_TIMEOUT_SECONDS) as response:
            data = response.read(MAX_FEED_BYTES + 1)
    else:
        with Path(source).open("rb") as file:
            data = file.read(MAX_FEED_BYTES + 1)
    if len(data) > MAX_FEED_BYTES:
        raise ValueError(f"{source} is larger than {MAX_FEED_BYTES} bytes")
    return data


def plain(text: str | None) -> str:
    """Markup out, entities to characters, white space to single spaces."""
    without_tags = re.sub(r"<[^>]*>", " ", text or "")
    return " ".join(html.unescape(without_tags).split())


def parse_time(text: str | None) -> datetime | None:
    """RSS dates are RFC 822, Atom dates are RFC 3339; None when it is neither."""
    if not text or not text.strip():
        return None
    text = text.strip()
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def entries(root: ElementTree.Element) -> Iterator[dict[str, str | None]]:
    """Title, link, id, text and time of each entry, by either format's element names."""
    for node in root.iter("item"):  # RSS 2.0
        yield {
            "title": node.findtext("title"),
            "link": node.findtext("link"),
            "id": node.findtext("guid"),
            "text": node.findtext("description"),
            "time": node.findtext("pubDate"),
        }
    for node in root.iter(f"{ATOM}entry"):
        links = node.findall(f"{ATOM}link")
        pages = [link for link in links if link.get("rel", "alternate") == "alternate"]
        yield {
            "title": node.findtext(f"{ATOM}title"),
            "link": pages[0].get("href") if pages else None,
            "id": node.findtext(f"{ATOM}id"),
            "text": node.findtext(f"{ATOM}summary") or node.findtext(f"{ATOM}content"),
            "time": node.findtext(f"{ATOM}published") or node.findtext(f"{ATOM}updated"),
        }


def feed_title(root: ElementTree.Element) -> str:
    return plain(root.findtext("channel/title") or root.findtext(f"{ATOM}title"))


def to_items(data: bytes, channel: str, namespace: str) -> Iterator[winnow.Item]:
    """One item per entry; what Winnow would refuse is refused there, with a reason."""
    root = ElementTree.fromstring(data)
    name = feed_title(root)
    for entry in entries(root):
        link = (entry["link"] or "").strip()
        item = winnow.Item(
            namespace=namespace,
            channel=channel or urlsplit(link).hostname or "feed",
            external_id=(entry["id"] or "").strip(),
            url=link,
            title=plain(entry["title"]),
            snippet=plain(entry["text"]),
            channel_name=name,
        )
        published = parse_time(entry["time"])
        if published is not None:
            item.publish_time.FromDatetime(published.astimezone(timezone.utc))
        yield item


def await_decision(
    client: winnow.Winnow, item_id: str, namespace: str, seconds: float
) -> winnow.Decision:
    """Waits until DedupService has decided on a stored item, which follows within moments."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return client.dedup.get_decision(item_id, namespace=namespace)
        except winnow.NotFound:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


def collect(client: winnow.Winnow, items: Iterator[winnow.Item]) -> None:
    """Stores the items and prints how many had which outcome."""
    new: list[tuple[str, str]] = []
    known = refused = 0
    for item, result in client.collector.ingest_items(items):
        if isinstance(result, winnow.WinnowError):
            refused += 1
            print(f"refused {item.url or item.title!r}: {result}", file=sys.stderr)
        elif result.created:
            new.append((result.id, item.namespace))
        else:
            known += 1
    decisions = [await_decision(client, *each, seconds=60) for each in new]
    duplicates = sum(each.verdict == winnow.Verdict.VERDICT_DUPLICATE for each in decisions)
    accepted = len(new) - duplicates
    print(f"{accepted} accepted, {duplicates} duplicates, {known} known before, {refused} refused")


def print_feed(client: winnow.Winnow, namespace: str, count: int) -> None:
    page = client.newsfeed.list_articles(namespace=namespace, page_size=count)
    for article in page.articles:
        when = article.publish_time.ToDatetime().strftime("%Y-%m-%d %H:%M")
        print(f"{when}  {article.source_name or article.source}: {article.title}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help='URL or file of a feed, "-" for standard input')
    parser.add_argument("--address", default=winnow.DEFAULT_ADDRESS, help="default %(default)s")
    parser.add_argument("--namespace", default="", help='default "default"')
    parser.add_argument("--channel", default="", help="the outlet; default: the links' host")
    parser.add_argument("--token-file", type=Path, help="file of the bearer token")
    parser.add_argument("--count", type=int, default=10, help="articles to print, %(default)s")
    arguments = parser.parse_args()
    token = arguments.token_file.read_text().strip() if arguments.token_file else None
    try:
        data = read_source(arguments.source)
        with winnow.connect(arguments.address, token=token) as client:
            collect(client, to_items(data, arguments.channel, arguments.namespace))
            print_feed(client, arguments.namespace, arguments.count)
    except ElementTree.ParseError as error:
        print(f"{arguments.source} is not a feed: {error}", file=sys.stderr)
        return 1
    except (OSError, ValueError, winnow.WinnowError) as error:
        print(f"collect_feed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
