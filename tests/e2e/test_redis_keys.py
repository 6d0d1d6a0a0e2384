"""A Redis that other programs use: what is theirs stays, until an operator gives it away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from eventually import eventually
from redis_cluster import RedisCluster
from winnow_process import Server, metric

import winnow
from winnow import polling_client

FOREIGN = "winnow_redis_foreign_keys"
PROCESSING = "stt:polling:processing"


def put_published_keys(store: redis.Redis) -> None:
    """As the published system leaves them, jobs in flight included."""
    store.zadd(PROCESSING, {"101": 1738234567890, "102": 1738234600000})
    store.zadd("stt:polling:summarizing", {"103": 1738234650000})
    store.zadd("news:feed:ai", {"naver_1": 1737100800000})
    store.expire("news:feed:ai", 3600)
    store.hset("news:article:naver_1", mapping={"id": "naver_1", "title": "An article"})
    store.hset("news:meta:ai", mapping={"article_count": "1", "is_stale": "false"})
    store.set("news:lock:environment", "1", ex=600)
    store.hset("video:v:classification", mapping={"c0": '{"status":"normal"}'})


def make_article(id: str, category: str, minutes_ago: int) -> winnow.Article:
    url = f"https://news.example/{id}"
    made = winnow.Article(id=id, url=url, title=f"Title of {id}", source="s")
    made.categories.add(category_id=category)
    made.publish_time.GetCurrentTime()
    made.publish_time.seconds -= 60 * minutes_ago
    return made


def write_everything(client: winnow.Winnow) -> None:
    categories = {"a": "ai", "b": "energy", "c": "environment"}
    articles = [make_article(id, each, n) for n, (id, each) in enumerate(categories.items())]
    results = client.newsfeed.batch_upsert_articles(articles)
    assert not [each for each in results if isinstance(each, winnow.WinnowError)]
    jobs = [polling_client.new_job(each) for each in ("j1", "j2")]
    assert client.polling.register_jobs("stt", jobs) == [True, True]


@pytest.mark.one_process("a Redis of its own")
def test_a_redis_in_use_stays_as_it_is_until_its_keys_are_adopted(
    make_server: Callable[..., Server], redis_socket: Path
) -> None:
    store = redis.Redis(unix_socket_path=str(redis_socket), decode_responses=True)
    put_published_keys(store)
    names = list(store.scan_iter())
    # Values as they are serialised: any bytes.
    raw: Any = redis.Redis(unix_socket_path=str(redis_socket))

    def snapshot() -> dict[str, tuple[Any, bytes | None]]:
        return {key: (raw.execute_command("PEXPIRETIME", key), raw.dump(key)) for key in names}

    before = snapshot()
    config = {"redis": {"url": f"redis+unix://{redis_socket}"}}
    server = make_server(config=config).start()
    with server.connect() as client:
        write_everything(client)
    eventually(lambda: store.zrange("news:feed:energy", 0, -1) == ["b"], "other feeds are written")
    eventually(lambda: metric(server, FOREIGN, "polling") == 2, "the polling sets stop the view")
    eventually(lambda: metric(server, FOREIGN, "newsfeed") == 2, "the feed and its metadata do")
    assert snapshot() == before
    eventually(
        lambda: metric(server, "winnow_dependency_up", "redis_keys") == 1, "probes report it"
    )
    for key in (PROCESSING, "news:feed:ai"):
        (line,) = [line for line in server.log.splitlines() if f'"first_key":"{key}"' in line]
        assert "winnow serve --adopt-redis-keys" in line
    assert server.stop() == 0
    assert snapshot() == before

    store.delete("news:lock:environment")
    server.arguments = ["--adopt-redis-keys"]
    server.start()
    eventually(lambda: store.zrange("news:feed:ai", 0, -1) == ["a"], "the feed is Winnow's")
    eventually(lambda: store.zrange(PROCESSING, 0, -1) == ["j1", "j2"], "the view is Winnow's")
    assert metric(server, FOREIGN) == 0
    adopted = [line for line in server.log.splitlines() if "were given to the projection" in line]
    assert len(adopted) == 3


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RedisCluster]:
    made = RedisCluster(tmp_path)
    yield made
    made.close()


@pytest.mark.one_process("a Redis Cluster of its own")
def test_ownership_holds_in_a_cluster_behind_envoy(
    make_server: Callable[..., Server], cluster: RedisCluster
) -> None:
    store = cluster.client
    store.zadd("stt:polling:summarizing", {"103": 1738234650000})
    store.zadd("news:feed:ai", {"naver_1": 1737100800000})
    server = make_server(config={"redis": {"url": cluster.url}}).start()
    with server.connect() as client:
        write_everything(client)
        eventually(
            lambda: store.zrevrange("news:feed:all", 0, -1) == ["a", "b", "c"], "all is written"
        )
        eventually(lambda: metric(server, FOREIGN, "polling") == 1, "the set stops the view")
        eventually(lambda: metric(server, FOREIGN, "newsfeed") == 1, "the feed stops")
        assert store.zrange("news:feed:ai", 0, -1) == ["naver_1"]
        assert store.zrange("stt:polling:summarizing", 0, -1) == ["103"]
        assert not store.exists(PROCESSING)
        store.delete("news:feed:all", "news:feed:ai")
        client.newsfeed.delete_article("b")
        eventually(lambda: store.zrevrange("news:feed:all", 0, -1) == ["a", "c"], "it is restored")
        eventually(lambda: not store.exists("news:article:b"), "a deleted article leaves")
        eventually(lambda: store.zrange("news:feed:ai", 0, -1) == ["a"], "what is free is taken")
    assert server.stop() == 0
    server.arguments = ["--adopt-redis-keys"]
    server.start()
    eventually(lambda: store.zrange(PROCESSING, 0, -1) == ["j1", "j2"], "the view is written")
    eventually(lambda: not store.exists("stt:polling:summarizing"), "the stale set is removed")
    assert metric(server, FOREIGN) == 0
    assert "{news:feed:all}:owner" in cluster.all_keys()
