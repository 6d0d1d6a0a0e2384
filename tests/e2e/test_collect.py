"""From vendors to a feed: sources that run by themselves, and what an operator sees of them."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from eventually import eventually
from fake_vendors import FakeVendors
from pipeline import decision
from winnow_process import Server, Serving

import winnow
from winnow.collector.v1 import source_pb2

DUPLICATE = winnow.Verdict.VERDICT_DUPLICATE


@pytest.fixture
def vendors() -> Iterator[FakeVendors]:
    made = FakeVendors()
    yield made
    made.close()


def naver_source(**fields: Any) -> winnow.Source:
    naver = source_pb2.NaverSource(credential="naver", query="바다")
    return winnow.Source(id="sea", naver=naver, categories=["sea"], **fields)


def newsdata_source() -> winnow.Source:
    newsdata = source_pb2.NewsDataSource(credential="newsdata", max_pages=3)
    return winnow.Source(id="harbour", newsdata=newsdata, categories=["sea"])


def leads(server: Server) -> bool:
    with urllib.request.urlopen(server.metrics, timeout=30) as answer:
        return b"\nwinnow_collector_leads 1\n" in answer.read()


def ended_runs(client: winnow.Winnow, source: str, count: int) -> list[source_pb2.Run]:
    def probe() -> list[source_pb2.Run] | None:
        runs = list(client.collector.runs(source_id=source))
        return runs if len(runs) >= count else None

    return eventually(probe, f"{count} runs of {source} have ended")


def run_again_in_vain(client: winnow.Winnow, vendors: FakeVendors) -> None:
    """Nothing is stored twice, and no page is fetched a second time by the next process."""
    pages = sum(count for path, count in vendors.asked.items() if path.count("/") == 2)
    run = client.collector.run_source("sea")
    eventually(
        lambda: run in {each.id for each in client.collector.runs(source_id="sea")},
        "the run that was asked for has ended",
    )
    (again,) = [each for each in client.collector.runs(source_id="sea") if each.id == run]
    assert (again.new_items, again.known_items, again.fetched_pages) == (0, 12, 0)
    assert pages == sum(n for path, n in vendors.asked.items() if path.count("/") == 2)


@dataclass
class Story:
    """What the flow made of the headline that both vendors have."""

    shown: str
    repeated: str


def start_replicas(
    make_server: Callable[..., Server], single: Server, vendors: FakeVendors, redis_socket: Path
) -> list[Server]:
    database = single.database().sibling("collect_flow")
    replicas = [make_server() for _ in range(3)]
    for replica in replicas:
        replica.config = {
            "postgres": {"url": database.url, "migrate_on_start": True},
            "redis": {"url": f"redis+unix://{redis_socket}"},
            "collector": vendors.collector_config(replica.folder),
        }
        replica.start()
    return replicas


def all_items(client: winnow.Winnow) -> list[winnow.Item]:
    """12 of Naver, 6 of NewsData, of which two have an address of the twelve: one item each."""

    def items() -> list[winnow.Item] | None:
        found = list(client.collector.items())
        return found if len(found) >= 16 else None

    stored = eventually(items, "all items are stored")
    assert len({each.canonical_url for each in stored}) == len(stored) == 16
    assert all(each.image_url for each in stored)
    return stored


def told_twice(client: winnow.Winnow, vendors: FakeVendors, items: list[winnow.Item]) -> Story:
    """One of the two outlets was first, whichever; the other repeats it, by its words."""
    pair = [each for each in items if each.title in (vendors.original, vendors.repeated)]
    assert len({each.channel for each in pair}) == len(pair) == 2
    decisions = {each.id: decision(client, each) for each in items}
    repeats = [each for each in decisions.values() if each.verdict == DUPLICATE]
    assert len(repeats) == 1
    (repeated,) = repeats
    assert {repeated.document_id, repeated.original_id} == {each.id for each in pair}
    assert repeated.stage == winnow.Stage.STAGE_TOKEN
    assert 0.8 <= repeated.similarity < 1.0
    return Story(shown=repeated.original_id, repeated=repeated.document_id)


def whole_feed(client: winnow.Winnow, items: list[winnow.Item], story: Story) -> list[str]:
    """The ids of the category's feed, newest first: everything but the repetition."""
    wanted = {each.id for each in items} - {story.repeated}

    def articles() -> list[winnow.Article] | None:
        found = list(client.newsfeed.articles(category_id="sea"))
        return found if {each.id for each in found} == wanted else None

    shown = eventually(articles, "they are in the feed")
    assert len(shown) == len(wanted)
    assert all(each.thumbnail_url for each in shown)
    of_newsdata = [each for each in shown if "/data/" in each.url]
    assert len(of_newsdata) >= 3
    for each in of_newsdata:
        assert list(each.ai_tags) == ["harbours"]
        assert each.source_icon_url.endswith("/icon.png")
    return [each.id for each in shown]


def read_published(redis_socket: Path, feed: list[str], items: list[winnow.Item]) -> None:
    """What a program reads that knows nothing but the published layout."""
    reader: Any = redis.Redis(unix_socket_path=str(redis_socket), decode_responses=True)
    eventually(lambda: reader.zcard("news:feed:sea") == len(feed), "Redis shows the feed")
    entries = reader.zrevrange("news:feed:sea", 0, -1, withscores=True)
    assert {name for name, _ in entries} == set(feed)
    by_id = {each.id: each for each in items}
    for name, score in entries:
        sent = by_id[name]
        assert score == sent.publish_time.ToMilliseconds()
        fields = ("title", "url", "thumbnail_url", "categories")
        title, url, thumbnail_url, categories = reader.hmget(f"news:article:{name}", fields)
        assert (title, url, thumbnail_url) == (sent.title, sent.url, sent.image_url)
        assert "sea" in categories
        assert reader.hgetall(f"news:article:{name}")["title"] == sent.title
    assert reader.hget("news:meta:sea", "article_count") == str(len(feed))


@pytest.mark.one_process("replicas of its own, of which the leader is killed")
def test_three_replicas_bring_vendors_to_a_feed_and_one_is_killed_amid_a_run(
    make_server: Callable[..., Server], single: Server, vendors: FakeVendors, redis_socket: Path
) -> None:
    replicas = start_replicas(make_server, single, vendors, redis_socket)
    vendors.gate.clear()
    with replicas[0].connect() as client:
        client.newsfeed.create_category(winnow.Category(id="sea", display_name="Sea"))
        client.collector.create_source(naver_source())
        client.collector.create_source(newsdata_source())
    # It has stored one page of NewsData and waits for the next, and for Naver's first.
    eventually(
        lambda: vendors.asked["/naver"] == 1 and vendors.asked["/newsdata"] == 2,
        "both runs are under way",
    )
    (leader,) = [replica for replica in replicas if leads(replica)]
    leader.kill()
    vendors.gate.set()
    rest = [replica for replica in replicas if replica is not leader]
    with rest[0].connect() as client:
        for source in ("sea", "harbour"):
            lost = ended_runs(client, source, 2)[-1]
            assert lost.outcome == winnow.RunOutcome.RUN_OUTCOME_PARTIAL
            assert "died" in lost.code
        items = all_items(client)
        feed = whole_feed(client, items, told_twice(client, vendors, items))
        read_published(redis_socket, feed, items)
        run_again_in_vain(client, vendors)
        used = {each.credential: each.day_used for each in client.collector.quotas()}
        # A call that was reserved by the killed one and not made counts all the same.
        assert 0 <= used["naver"] - vendors.asked["/naver"] <= 1
        assert 0 <= used["newsdata"] - vendors.asked["/newsdata"] <= 1
    assert sum(leads(replica) for replica in rest) == 1
    assert vendors.keys == {("the-id", "the-secret"), ("the-key",)}
    for replica in rest:
        assert replica.stop() == 0
        assert "the-key" not in replica.log and "the-secret" not in replica.log


def test_an_operator_sees_sources_runs_and_quota(
    server: Serving, client: winnow.Winnow, world_vendors: FakeVendors, tmp_path: Path
) -> None:
    client.collector.create_source(naver_source(display_name="Sea"))
    ended_runs(client, "sea", 1)
    listed = server.run("collect", "sources")
    assert listed.code == 0, listed.err
    assert "sea  active  naver 바다  every 300 s" in listed.out
    run = server.run("collect", "run", "sea", "--wait")
    assert run.code == 0, run.err
    assert "sea: ok, 0 new, 12 known" in run.out
    runs = server.run("collect", "runs", "sea", "--json")
    assert len(runs.json()["runs"]) == 2
    quota = server.run("collect", "quota")
    assert "naver  naver  2 of 25000 calls" in quota.out
    assert "newsdata  newsdata  0 of 200 calls" in quota.out
    assert server.run("collect", "quota", "nobody").code == 1

    opml = tmp_path / "feeds.opml"
    outline = f"<outline text='A' xmlUrl='{world_vendors.url('/feed')}'/>"
    opml.write_text(f"<opml><body>{outline}<outline xmlUrl='mailto:x'/></body></opml>")
    imported = server.run("collect", "import-opml", opml)
    assert imported.code == 4, imported.err
    assert "1 sources created, 0 known, 1 refused" in imported.out
    assert "mailto:x" in imported.err
    (feed,) = [each.id for each in client.collector.sources() if each.id != "sea"]
    fetched = server.run("collect", "run", feed, "--wait")
    assert fetched.code == 0, fetched.err
    assert server.run("collect", "pause", feed).out == f"{feed}  paused\n"
    refused = server.run("collect", "run", feed)
    assert refused.code == 1
    assert "resume it" in refused.err
    begin = next(client.collector.watch_runs(source_id=feed)).resume_token
    assert server.run("collect", "resume", feed).out == f"{feed}  active\n"
    watched = server.run("collect", "watch", feed, "--count", "1", "--page-token", begin)
    assert watched.code == 0, watched.err
    assert f"{feed}: ok" in watched.out
    for source in ("sea", feed):
        client.collector.delete_source(source)
