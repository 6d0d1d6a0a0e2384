"""A Redis that the published system uses: untouched until import and adoption."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import redis
from check import compare
from eventually import eventually
from leg import Result
from load import KIND, Load, goes_on
from postgres_server import Postgres
from redis_process import redis_server
from servers import serving
from winnow_process import Server, connect, run_against, world_folder

Store: TypeAlias = Any  # a redis.Redis of bytes
Snapshot: TypeAlias = "dict[bytes, bytes | None]"
STATES = ("processing", "summarizing")
JOBS = 20  # in each state
WAIT = 30.0
LOAD_SECONDS = 2.0  # before the import, and after the adoption


def run() -> Result:
    result = Result("redis")
    postgres = Postgres()
    database = postgres.new_database("failover")
    folder = world_folder("failover-redis")
    try:
        with redis_server(folder) as socket:
            raw = redis.Redis(unix_socket_path=str(socket))
            put_published_keys(raw)
            before = snapshot(raw)
            config = {"redis": {"url": f"redis+unix://{socket}"}}
            with serving(database.url, count=1, **config) as (server,):
                stays_untouched(server, raw, before, database.run, result)
                load = Load([server.address], "adopted")
                try:
                    goes_on(load, "writes before the import", LOAD_SECONDS)
                    adopt(server, raw, socket, before, result)
                    goes_on(load, "writes after the adoption", LOAD_SECONDS)
                finally:
                    load.end()
                with connect(server.address) as client:
                    compare(load, client, database.run, result)
    finally:
        postgres.close()
        subprocess.run(["rm", "-rf", str(folder)], check=False)
    return result


def put_published_keys(store: Store) -> None:
    now = int(time.time() * 1000)
    for state in STATES:
        jobs = {f"{state}-{each}": now - 60_000 + each for each in range(JOBS)}
        store.zadd(f"stt:polling:{state}", jobs)
    store.zadd("news:feed:all", {"naver_1": 1737100800000})
    store.hset("news:article:naver_1", mapping={"id": "naver_1", "title": "An article"})
    store.hset("news:meta:all", mapping={"article_count": "1", "is_stale": "false"})
    store.set("news:lock:all", "1")
    store.hset("video:v:classification", mapping={"c0": '{"status":"normal"}'})


def snapshot(store: Store) -> Snapshot:
    return {key: store.dump(key) for key in store.scan_iter()}


def changed(store: Store, before: Snapshot) -> list[str]:
    return [key.decode() for key, value in before.items() if store.dump(key) != value]


def stays_untouched(
    server: Server, raw: Store, before: Snapshot, query: Callable[[str], str], result: Result
) -> None:
    load = Load([server.address], "redis")
    try:
        metric = "winnow_redis_foreign_keys"
        eventually(
            lambda: (
                sum(
                    float(line.rpartition(" ")[2]) > 0
                    for line in server.scrape().splitlines()
                    if line.startswith(metric)
                )
                >= 2
            ),
            "foreign keys stop the view of jobs and the feed",
            seconds=WAIT,
        )
    except AssertionError as error:
        result.failures.append(str(error))
    load.end()
    with connect(server.address) as client:
        compare(load, client, query, result)
    result.lost += [f"Redis key {key}" for key in changed(raw, before)]
    result.notes.append(f"{len(before)} keys of another system are byte for byte as before")


def adopt(server: Server, raw: Store, socket: Path, before: Snapshot, result: Result) -> None:
    """The published system's jobs are imported, then its keys are given to Winnow."""
    done = run_against(server, "jobs", "import-redis", "--redis", f"redis+unix://{socket}")
    if done.code != 0:
        result.failures.append(f"import-redis ended with {done.code}: {done.err}")
    result.lost += [f"Redis key {key} by the import" for key in changed(raw, before)]
    wanted = {f"{state}-{each}" for state in STATES for each in range(JOBS)}
    with connect(server.address) as client:
        found = Counter(each.id for each in client.polling.jobs(KIND, page_size=1000))
    result.acknowledged += len(wanted)
    result.lost += [f"job {each}" for each in wanted - found.keys()]
    result.duplicated += [f"job {each}" for each in wanted if found[each] > 1]
    stopped = time.monotonic()
    assert server.stop() == 0
    server.arguments = ["--adopt-redis-keys"]
    server.start()
    result.notes.append(f"stopped and started to adopt: {time.monotonic() - stopped:.1f} s")

    def shown() -> set[str]:
        sets = (raw.zrange(f"stt:polling:{state}", 0, -1) for state in STATES)
        return {job.decode() for jobs in sets for job in jobs}

    try:
        eventually(lambda: wanted <= shown(), "the view shows the imported jobs", seconds=WAIT)
    except AssertionError as error:
        result.failures.append(f"{error}; {len(wanted - shown())} of {len(wanted)} are not shown")
