"""`winnow jobs import-redis`: jobs of a Redis in the published layout go on in the registry."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from eventually import eventually
from redis_cli import redis
from winnow_process import Server, Serving, metric

import winnow
from winnow.polling.v1 import polling_pb2
from winnow.polling_client import HeldJob, InFlightJob, Job, JobPolicy, to_duration

Scores = dict[str, int | str]  # by member

MINUTE = 60_000
PROCESSING = "stt:polling:processing"
SUMMARIZING = "stt:polling:summarizing"
READS = {"scan", "type", "zcard", "zscan"}
# What a connection says of itself, and this test.
PLUMBING = {"auth", "client|setinfo", "client|setname", "config|resetstat", "hello", "info", "ping"}
PLUMBING |= {"readonly", "select", "command|docs", "command"}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def kind(server: Serving, client: winnow.Winnow) -> str:
    """With the published rules but for a short interval of sweeps; without a view of its own."""
    name = f"moved-{uuid.uuid4().hex[:12]}"
    policy = JobPolicy(
        states=["processing", "summarizing"],
        lease=to_duration(60),
        deadline=to_duration(3600),
        sweep_interval=to_duration(0.1),
    )
    client.polling.update_policy(name, policy, [each.name for each, _ in policy.ListFields()])
    return name


def fill(socket: Path, key: str, scores: Scores) -> None:
    lines = (f'ZADD {key} {score} "{member}"\n' for member, score in scores.items())
    redis(socket, stdin="".join(lines))


def commands_run(socket: Path) -> set[str]:
    """Since CONFIG RESETSTAT."""
    rows = redis(socket, "INFO", "commandstats").splitlines()
    return {row.split(":")[0].removeprefix("cmdstat_") for row in rows if row.startswith("cmd")}


def by_id(client: winnow.Winnow, kind: str) -> dict[str, Job]:
    return {job.id: job for job in client.polling.jobs(kind, page_size=1000)}


def test_published_jobs_go_on_in_the_registry(
    server: Serving, client: winnow.Winnow, kind: str, redis_socket: Path
) -> None:
    now = now_ms()
    processing: Scores = {f"p{n}": now - 10 * MINUTE - n for n in range(1300)}
    summarizing: Scores = {f"s{n}": now - 5 * MINUTE - n for n in range(300)}
    good = set(processing) | set(summarizing) | {"both", "overdue"}
    moving: Scores = {"both": now - 9 * MINUTE, "overdue": now - 90 * MINUTE}
    bad: Scores = {"no good": now, "seconds": now // 1000, "endless": "inf"}
    fill(redis_socket, PROCESSING, processing | moving | bad)
    fill(redis_socket, SUMMARIZING, summarizing | {"both": now - 2 * MINUTE})
    fill(redis_socket, "stt:polling:archived", {"a1": now, "a2": now})
    redis(redis_socket, "SET", "stt:polling:lock", "held")
    redis(redis_socket, "CONFIG", "RESETSTAT")

    arguments = ["jobs", "import-redis", "--redis", f"redis+unix://{redis_socket}"]
    arguments += ["--kind", kind, "--prefix", "stt:polling:"]
    dry = server.run(*arguments, "--dry-run", "--json")
    assert dry.code == 4, dry.err
    refused = {"id": 1, "score": 1, "state_time": 1, "state": 2}
    # A dry run finds the job of two sets new in both.
    assert dry.json()["imported"] == len(good) + 1
    assert dry.json()["refused_by_reason"] == refused
    assert by_id(client, kind) == {}

    first = server.run(*arguments, "--json")
    assert first.code == 4, first.err
    assert first.json() == {
        "dry_run": False,
        "read": len(good) + 1 + 5,
        "imported": len(good),
        "already_present": 1,
        "in_another_state": 1,
        "refused": 5,
        "refused_by_reason": refused,
    }
    assert "stt:polling:archived: kind" in first.err
    assert "endless: score inf is not a time" in first.err
    jobs = by_id(client, kind)
    assert set(jobs) == good
    assert jobs["both"].state == "summarizing"
    for job_id, score in (processing | summarizing).items():
        assert jobs[job_id].state_time.ToMilliseconds() == score
        assert jobs[job_id].state == ("processing" if job_id[0] == "p" else "summarizing")

    again = server.run(*arguments)
    assert again.code == 4, again.err
    assert f"0 imported, {len(good) + 1:,} already present (1 in another state)" in again.out
    assert commands_run(redis_socket) <= READS | PLUMBING, "nothing is written"
    assert redis(redis_socket, "ZCARD", PROCESSING).strip() == str(1300 + 2 + 3)


def test_imported_jobs_are_worked_on_and_swept_as_native_ones(
    server: Serving, client: winnow.Winnow, kind: str, redis_socket: Path
) -> None:
    now = now_ms()
    fill(redis_socket, PROCESSING, {"fresh": now - MINUTE, "overdue": now - 90 * MINUTE})
    arguments = ["jobs", "import-redis", "--redis", f"redis+unix://{redis_socket}"]
    arguments += ["--kind", kind, "--prefix", "stt:polling:"]
    done = server.run(*arguments)
    assert done.code == 0, done.err

    def buried() -> bool:
        overdue = client.polling.get_job(kind, "overdue")
        return overdue.phase == polling_pb2.JOB_PHASE_BURIED

    eventually(buried, "the deadline, which began in the old registry, is over")
    assert client.polling.get_job(kind, "overdue").reason == polling_pb2.STALE_REASON_DEADLINE
    (claimed,) = client.polling.claim_jobs(kind, "worker", max_jobs=10)
    assert (claimed.id, claimed.state) == ("fresh", "processing")
    held = HeldJob(id=claimed.id, token=claimed.token)
    (beat,) = client.polling.heartbeat_jobs(kind, [held])
    assert not beat.lost
    assert client.polling.complete_job(claimed, b"text").phase == polling_pb2.JOB_PHASE_COMPLETED
    (history, *_) = client.polling.job_events(kind, claimed.id)
    assert history.actor == "winnow jobs import-redis"
    assert history.note == "from stt:polling:processing"
    # What ended here does not come back.
    assert server.run(*arguments, "--json").json()["imported"] == 0


def shown(socket: Path, key: str) -> dict[str, int]:
    words = redis(socket, "ZRANGE", key, "0", "-1", "WITHSCORES").split()
    return {member: int(score) for member, score in zip(words[::2], words[1::2], strict=True)}


@pytest.mark.one_process("a process that is started with --adopt-redis-keys")
def test_a_server_that_adopts_the_keys_goes_on_showing_the_imported_jobs(
    make_server: Callable[..., Server], redis_socket: Path
) -> None:
    now = now_ms()
    processing = {f"p{n}": now - MINUTE - n for n in range(50)}
    summarizing = {f"s{n}": now - 2 * MINUTE - n for n in range(50)}
    fill(redis_socket, PROCESSING, dict(processing))
    fill(redis_socket, SUMMARIZING, dict(summarizing))
    url = f"redis+unix://{redis_socket}"
    server = make_server(config={"redis": {"url": url}}).start()
    foreign = 'projection="polling"'
    eventually(
        lambda: metric(server, "winnow_redis_foreign_keys", foreign) > 0, "the view is stopped"
    )
    done = server.run("jobs", "import-redis", "--redis", url)
    assert done.code == 0, done.err
    assert "100 jobs read, 100 imported" in done.out
    assert (shown(redis_socket, PROCESSING), shown(redis_socket, SUMMARIZING)) == (
        processing,
        summarizing,
    )

    assert server.stop() == 0
    server.arguments.append("--adopt-redis-keys")
    server.start()
    with server.connect() as client:
        client.polling.register_job("stt", "native")

        def adopted() -> bool:
            return "native" in shown(redis_socket, PROCESSING)

        eventually(adopted, "the view shows a new job")
        view = shown(redis_socket, PROCESSING)
        del view["native"]
        assert (view, shown(redis_socket, SUMMARIZING)) == (processing, summarizing)
        assert metric(server, "winnow_redis_foreign_keys", foreign) == 0


def test_the_rest_of_an_import_that_was_ended_is_imported(
    server: Serving, client: winnow.Winnow, kind: str, redis_socket: Path
) -> None:
    now = now_ms()
    half = [InFlightJob(id=f"p{n}", state="processing") for n in range(500)]
    for job in half:
        job.state_time.FromMilliseconds(now - MINUTE)
    results = client.polling.import_jobs(kind, half, note="the half", actor="test")
    assert all(not isinstance(each, winnow.WinnowError) and each.created for each in results)
    fill(redis_socket, PROCESSING, {f"p{n}": now - MINUTE for n in range(1000)})
    arguments = ["jobs", "import-redis", "--redis", f"redis+unix://{redis_socket}"]
    done = server.run(*arguments, "--kind", kind, "--prefix", "stt:polling:")
    assert done.code == 0, done.err
    assert "1,000 jobs read, 500 imported, 500 already present, 0 refused" in done.out
    assert len(by_id(client, kind)) == 1000


def test_wrong_calls_and_what_is_away_have_their_exit_codes(
    server: Serving, kind: str, redis_socket: Path, tmp_path: Path
) -> None:
    here = ("jobs", "import-redis", "--redis", f"redis+unix://{redis_socket}")
    assert server.run("jobs", "import-redis").code == 2
    no_prefix = server.run(*here, "--kind", kind)
    assert no_prefix.code == 2
    assert "--prefix: is required" in no_prefix.err
    assert server.run(*here, "--kind", "nothing-of-the-kind").code == 1
    nothing = server.run(*here)
    assert (nothing.code, nothing.out.split(",")[0]) == (0, "0 jobs read")
    redis(redis_socket, "SADD", PROCESSING, "1")
    old = server.run(*here)
    assert old.code == 1
    assert f"{PROCESSING} is a set, not a sorted set" in old.err
    away = ("jobs", "import-redis", "--redis", f"redis+unix://{tmp_path}/none.sock")
    assert server.run(*away).code == 3
