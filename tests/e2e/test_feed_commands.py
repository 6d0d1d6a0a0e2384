"""What operators do with feeds: search, stats, status, refresh, import-redis."""

from __future__ import annotations

from pathlib import Path

import pytest
from eventually import eventually
from pipeline import await_feed
from redis_cli import redis
from winnow_process import Serving

import winnow

NOW = 1_750_000_000


def own(namespace: str, number: int, title: str, snippet: str = "") -> winnow.Article:
    made = winnow.Article(
        namespace=namespace,
        id=f"own-{number}",
        url=f"https://own.example/{namespace}/{number}",
        title=title,
        snippet=snippet,
        source="own",
    )
    made.publish_time.FromSeconds(NOW + number)
    return made


def store(client: winnow.Winnow, articles: list[winnow.Article]) -> None:
    for result in client.newsfeed.batch_upsert_articles(articles):
        assert isinstance(result, winnow.UpsertedArticle), result


def test_articles_are_found_by_two_korean_characters_and_by_english_words(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    store(
        client,
        [
            own(namespace, 1, "한강 원자력 토론회"),
            own(namespace, 2, "Solar fields", "원자력 없이"),
            own(namespace, 3, "Every event"),
        ],
    )
    found = client.newsfeed.search("자력", namespace=namespace, page_size=1)
    assert [each.id for each in found] == ["own-2", "own-1"]
    assert list(client.newsfeed.search("ev", namespace=namespace)) == []
    printed = server.run("feed", "search", "solar 원자", "--namespace", namespace, "--json")
    assert printed.code == 0, printed.err
    assert [each["id"] for each in printed.json()["articles"]] == ["own-2"]
    assert "nothing found" in server.run("feed", "search", "없음", "--namespace", namespace).out
    assert server.run("feed", "search", "가", "--namespace", namespace).code != 0


@pytest.mark.one_process("memory is each process's own")
def test_a_feed_says_how_it_is_served(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    store(client, [own(namespace, number, f"Story {number}") for number in range(5)])
    refreshed = server.run("feed", "refresh", "--namespace", namespace)
    assert refreshed.code == 0, refreshed.err
    assert refreshed.out.startswith("5 articles in memory")
    status = client.newsfeed.feed_status(namespace=namespace)
    assert (status.memory.cached_count, status.memory.whole) == (5, True)
    assert not status.HasField("projection")
    eventually(
        lambda: client.newsfeed.feed_status(namespace=namespace).store.index.complete or None,
        "all articles are indexed",
    )
    printed = server.run("feed", "status", "--namespace", namespace)
    assert "5 articles, the whole feed" in printed.out
    assert server.run("feed", "status", "--category", "nowhere").code != 0
    stats = client.newsfeed.feed_stats(
        winnow.StatsDimension.STATS_DIMENSION_SOURCE, namespace=namespace
    )
    assert [(each.key, each.article_count) for each in stats] == [("own", 5)]
    by_category = server.run("feed", "stats", "--namespace", namespace)
    assert by_category.out.split() == ["5", "uncategorized"]


def test_an_edit_of_what_is_no_more_undoes_nobody_elses(
    client: winnow.Winnow, namespace: str
) -> None:
    store(client, [own(namespace, 1, "First")])
    read = client.newsfeed.get_article("own-1", namespace=namespace)
    read.title = "Second"
    store(client, [read])
    store(client, [read])  # a retry
    read.title = "Third"
    (refused,) = client.newsfeed.batch_upsert_articles([read])
    assert isinstance(refused, winnow.Aborted)
    assert refused.reason == "STALE_ETAG"
    assert client.newsfeed.get_article("own-1", namespace=namespace).title == "Second"


def watched(client: winnow.Winnow, namespace: str, token: str, count: int) -> list[str]:
    """What a watcher receives after `token`, and the token of where that ends."""
    reported = []
    events = client.newsfeed.watch_articles(namespace=namespace, resume_token=token)
    for event in events:
        token = event.resume_token
        if event.HasField("tombstone"):
            reported.append(f"- {event.tombstone.id}")
        elif event.HasField("article"):
            sign = "+" if event.article.entered else "~"
            reported.append(f"{sign} {event.article.article.id}")
        if len(reported) == count:
            break
    return [*reported, token]


def test_a_feed_is_followed_from_where_a_scroll_began(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    store(client, [own(namespace, number, f"Story {number}") for number in range(3)])

    def newer_token() -> str | None:
        read = client.newsfeed.list_articles(namespace=namespace)
        return read.newer_token if len(read.articles) == 3 else None

    token = eventually(newer_token, "the feed shows them")
    assert client.newsfeed.count_new_articles(token, namespace=namespace).article_count == 0
    store(client, [own(namespace, 3, "Story 3"), own(namespace, 4, "Story 4")])
    store(client, [own(namespace, 0, "Story 0, edited")])
    client.newsfeed.delete_article("own-1", namespace=namespace)
    counted = client.newsfeed.count_new_articles(token, namespace=namespace)
    assert (counted.article_count, counted.exact) == (2, True)

    def newer() -> list[str]:
        return [a.id for a in client.newsfeed.articles(namespace=namespace, page_token=token)]

    eventually(lambda: newer() == ["own-4", "own-3"], "the newer feed, of every process")
    wanted = ["+ own-3", "+ own-4", "~ own-0", "- own-1"]
    *reported, resume = watched(client, namespace, token, 4)
    assert reported == wanted
    # The token of the last event continues behind it.
    store(client, [own(namespace, 5, "Story 5")])
    assert watched(client, namespace, resume, 1)[:-1] == ["+ own-5"]
    where = ("--namespace", namespace, "--page-token", token)
    printed = server.run("feed", "watch", *where, "--count", "5")
    assert printed.code == 0, printed.err
    lines = printed.out.splitlines()
    assert [line[:1] for line in lines[:5]] == ["+", "+", "~", "-", "+"]
    assert "Story 0, edited" in lines[2]
    assert lines[3] == "- own-1"
    assert lines[5].startswith("go on: --page-token ")


def publish(socket: Path, category: str, number: int, **fields: str) -> None:
    id = f"naver_{number}"
    score = str((NOW + number) * 1000 + 7)
    redis(socket, "ZADD", f"news:feed:{category}", score, id)
    values = {"url": f"https://news.example/{number}", "title": f"제목 {number}", "snippet": ""}
    values |= {"source": "naver", "category": category} | fields
    redis(socket, "HSET", f"news:article:{id}", *[part for pair in values.items() for part in pair])


def test_a_published_redis_is_imported_and_compared(
    server: Serving, client: winnow.Winnow, namespace: str, redis_socket: Path, tmp_path: Path
) -> None:
    for number in range(30):
        publish(redis_socket, "ai" if number % 2 else "energy", number)
    publish(redis_socket, "ai", 0)  # of two feeds
    publish(redis_socket, "ai", 30, title="")  # refused before it is sent: no title
    redis(redis_socket, "ZADD", "news:feed:ai", "1", "naver_expired")  # its hash is gone
    arguments = ["feed", "import-redis", "--redis", f"redis+unix://{redis_socket}"]
    arguments += ["--namespace", namespace, "--create-categories"]
    state = tmp_path / "state"
    first = server.run(*arguments, "--state", state)
    assert first.code == 0, first.err
    assert "30 created, 0 updated, 0 there already, 0 merged by url, 2 gone" in first.out
    assert "in the store: equal" in first.out
    assert not state.exists()
    again = server.run(*arguments)
    assert "0 created, 0 updated, 30 there already" in again.out
    ai = [number for number in range(29, -1, -1) if number % 2 or number == 0]
    await_feed(client, namespace, [f"naver_{number}" for number in ai], "ai")
    shown = client.newsfeed.articles(namespace=namespace, category_id="ai")
    assert [each.id for each in shown] == [f"naver_{number}" for number in ai]
    moved = client.newsfeed.get_article("naver_4", namespace=namespace)
    assert moved.publish_time.ToMilliseconds() == (NOW + 4) * 1000 + 7
    # A run that was ended goes on after the id in its state.
    state.write_text("naver_7\n")
    rest = server.run(*arguments, "--state", state)
    assert "0 created, 0 updated, 2 there already" in rest.out
    # What Winnow projected is a poorer copy of what it has: not one field of it goes back.
    before = client.newsfeed.get_article("naver_5", namespace=namespace)
    publish(redis_socket, "ai", 5, title="an older title", winnow="wire bytes")
    assert "29 there already" in (own := server.run(*arguments)).out
    assert "1 written by Winnow (skipped)" in own.out
    assert client.newsfeed.get_article("naver_5", namespace=namespace) == before
    redis(redis_socket, "HDEL", "news:article:naver_5", "winnow")
    publish(redis_socket, "ai", 5)
    # An article that was merged by its URL is recognised; one that differs is found out.
    publish(redis_socket, "ai", 99, url="https://www.news.example/3?utm_source=x")
    merged = server.run(*arguments)
    assert "1 merged by url" in merged.out
    assert merged.code == 0
    away = server.run("feed", "import-redis", "--redis", f"redis+unix://{tmp_path}/none.sock")
    assert away.code != 0
