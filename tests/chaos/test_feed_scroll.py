"""A scroll through everything that goes wrong meanwhile, against an oracle.

The server has a Redis. While one reader scrolls from the newest article to the oldest, 200 articles
come a second, others change, go and move, Redis is flushed and killed, and the server is killed and
started again.
What was there when the scroll began and stayed is shown exactly once; what was deleted at most
once; what came later not at all, but in the newer feed. WINNOW_SCROLL_ARTICLES sizes it (4,000; a
million for the soak), WINNOW_CHAOS_SEED is what the rest is drawn from.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eventually import eventually
from winnow_process import Server

import winnow

ARTICLES = int(os.environ.get("WINNOW_SCROLL_ARTICLES", "4000"))
SEED = int(os.environ.get("WINNOW_CHAOS_SEED", "20260201"))
NAMESPACE = "default"  # the one that is projected
PAGE = 100
ARRIVALS_A_SECOND = 200
LEAST_ARRIVALS = 5  # at once
MOST_ARRIVALS = 500
START = 1_700_000_000
# How many real items share a time, of stream-2026-02a: most one, some many.
TIES = [1] * 60 + [2] * 18 + [3] * 9 + [5] * 6 + [10] * 4 + [37] * 2 + [75]


class Redis:
    """redis-server on one port, which may be flushed and killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket = folder / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis+unix://{self._socket}"

    def start(self) -> None:
        command = ["redis-server", "--port", "0", "--unixsocket", str(self._socket), "--save", ""]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command, "--dir", str(self._folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        eventually(lambda: self.run("PING") == "PONG\n", "Redis answers")

    def run(self, *command: str) -> str:
        done = subprocess.run(
            ["redis-cli", "-s", str(self._socket), *command], capture_output=True, timeout=30
        )
        return done.stdout.decode()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    made = Redis(tmp_path)
    made.start()
    yield made
    made.kill()


def own(number: int, seconds: int, category: str) -> winnow.Article:
    made = winnow.Article(
        id=f"n{number}",
        url=f"https://news.example/{number}",
        title=f"Story {number}",
        source=f"outlet-{number % 11}",
    )
    made.categories.add(category_id=category)
    made.publish_time.FromSeconds(START + seconds)
    return made


class World:
    """What the reader must see, and what is done behind its back."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.seconds: dict[int, int] = {}
        number = seconds = 0
        while number < ARTICLES:
            seconds += chance.randrange(1, 90)
            for _ in range(chance.choice(TIES)):
                self.seconds[number] = seconds
                number += 1
        self.touched: set[str] = set()  # deleted, brought back or moved since the scroll began
        self.came: set[str] = set()
        self._next = number
        self._span = seconds

    def articles(self) -> Iterator[winnow.Article]:
        for number, seconds in self.seconds.items():
            yield own(number, seconds, "left" if number % 2 else "right")

    def disturb(self, client: winnow.Winnow, count: int) -> None:
        feed = client.newsfeed
        arrivals = []
        for _ in range(count):
            arrivals.append(own(self._next, self.chance.randrange(self._span), "left"))
            self.came.add(arrivals[-1].id)
            self._next += 1
        store(client, arrivals)
        gone, edited, moved = self.chance.sample(range(len(self.seconds)), 3)
        feed.delete_article(f"n{gone}")
        if self.chance.random() < 0.5:
            feed.undelete_article(f"n{gone}")
        self.touched.add(f"n{gone}")
        changed = own(edited, self.seconds[edited], "left" if edited % 2 else "right")
        changed.title += " (edited)"
        if f"n{edited}" not in self.touched:
            store(client, [changed])
        if f"n{moved}" not in self.touched:
            store(client, [own(moved, self.seconds[moved], "right" if moved % 2 else "left")])


def store(client: winnow.Winnow, articles: list[winnow.Article]) -> None:
    for result in client.newsfeed.batch_upsert_articles(articles):
        assert isinstance(result, winnow.UpsertedArticle), result


def restart(server: Server) -> None:
    server.kill()
    server.start()


def lost_by_milliseconds(world: World) -> float:
    """Control: the share that `max = cursor - 1` loses on the same times at pages of 10."""
    times = sorted(world.seconds.values(), reverse=True)
    shown = 0
    at = 0
    while at < len(times):
        page = times[at : at + 10]
        shown += len(page)
        while at < len(times) and times[at] >= page[-1]:
            at += 1
    return 1 - shown / len(times)


def test_a_scroll_shows_each_article_once_whatever_happens(
    make_server: Callable[..., Server], redis: Redis
) -> None:
    chance = random.Random(SEED)
    world = World(chance)
    server = make_server(config={"redis": {"url": redis.url}}).start()
    pages = ARTICLES // PAGE
    when = sorted(chance.sample(range(1, pages), min(7, pages - 1)))
    harm: dict[int, Callable[[], object]] = {}

    def flush() -> None:
        redis.run("FLUSHALL")

    def restart_redis() -> None:
        redis.kill()
        redis.start()

    for number, harmful in zip(
        when,
        [flush, lambda: restart(server), restart_redis, flush, lambda: restart(server), flush,
         restart_redis],
        strict=False,
    ):  # fmt: skip
        harm[number] = harmful
    with server.connect() as client:
        for id in ("left", "right"):
            client.newsfeed.create_category(winnow.Category(id=id, display_name=id))
        for _, result in client.newsfeed.ingest_articles(world.articles()):
            assert isinstance(result, winnow.UpsertedArticle), result
        seen: list[str] = []
        token = newer = ""
        page_number = 0
        began = time.monotonic()
        while True:
            page = client.newsfeed.list_articles(page_size=PAGE, page_token=token)
            newer = newer or page.newer_token
            seen += [each.id for each in page.articles]
            token = page.next_page_token
            if not token:
                break
            assert len(page.articles) == PAGE, "short before the end"
            page_number += 1
            due = int((time.monotonic() - began) * ARRIVALS_A_SECOND) - len(world.came)
            if due >= LEAST_ARRIVALS or page_number % max(1, pages // 25) == 0:
                world.disturb(client, min(max(due, LEAST_ARRIVALS), MOST_ARRIVALS))
            if page_number in harm:
                harm[page_number]()
        later = [each.id for each in client.newsfeed.articles(page_size=PAGE, page_token=newer)]
    assert len(seen) == len(set(seen)), "an article came twice"
    there = {f"n{number}" for number in world.seconds}
    assert set(seen) <= there, "an article came that was not there when the scroll began"
    assert there - set(seen) <= world.touched, "an article was lost"
    assert world.came <= set(later)
    assert set(later) <= world.came | world.touched
    assert lost_by_milliseconds(world) > 0.04, "the control must lose more than 4 %"
    assert server.stop() == 0
