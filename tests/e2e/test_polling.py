"""Jobs in flight, worked on by the example's processes, which crash, stall and lose a provider."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eventually import eventually
from stt_provider import Provider
from winnow_process import ENVIRONMENT, LIMIT_SECONDS, ROOT, Serving

import winnow
from winnow import polling_client
from winnow.job_worker import JobWorker, MoveTo
from winnow.polling.v1 import polling_pb2
from winnow.polling_client import Job, JobPolicy, to_duration

EXAMPLE = ROOT / "clients" / "python" / "examples" / "stt_worker.py"
# Longer than any worker of a slow machine is held up; and what is waited for where a worker dies.
LEASE_SECONDS = 60.0
SHORT_LEASE_SECONDS = 1.0
HEARTBEAT_SECONDS = 0.2


def update_policy(client: winnow.Winnow, policy: JobPolicy) -> None:
    fields = [each.name for each, _ in policy.ListFields()]
    client.polling.update_policy("stt", policy, fields)


@pytest.fixture(scope="module")
def registry(server: Serving) -> Serving:
    """Its kind "stt", which no other test knows, is in a hurry."""
    with server.connect() as client:
        policy = JobPolicy(
            lease=to_duration(LEASE_SECONDS),
            sweep_interval=to_duration(0.1),
            poll_interval=to_duration(0.05),
            backoff_base=to_duration(0.1),
            backoff_max=to_duration(0.4),
            max_attempts=100,
            max_losses=1000,
        )
        update_policy(client, policy)
    return server


@pytest.fixture
def short_lease(registry: Serving, client: winnow.Winnow) -> Iterator[None]:
    """What a dead worker had is free soon."""
    update_policy(client, JobPolicy(lease=to_duration(SHORT_LEASE_SECONDS)))
    yield
    update_policy(client, JobPolicy(lease=to_duration(LEASE_SECONDS)))


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


class WorkerProcess:
    def __init__(self, registry: Serving, provider: Provider, name: str, folder: Path) -> None:
        self.log = folder / f"{name}.log"
        arguments = ["--provider", provider.url, "--server", registry.address, "--owner", name]
        arguments += ["--heartbeat", str(HEARTBEAT_SECONDS)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(EXAMPLE), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=ENVIRONMENT,
            )

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(timeout=LIMIT_SECONDS)


@pytest.fixture
def work(
    registry: Serving, provider: Provider, tmp_path: Path
) -> Iterator[Callable[[], WorkerProcess]]:
    """Starts a worker; all end with the test."""
    started: list[WorkerProcess] = []

    def start() -> WorkerProcess:
        name = f"worker-{len(started)}"
        started.append(WorkerProcess(registry, provider, name, tmp_path))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


_numbers = itertools.count(1)


@pytest.fixture
def recording() -> str:
    return f"recording-{next(_numbers)}"


def phase_is(client: winnow.Winnow, job_id: str, phase: int) -> Callable[[], Job | None]:
    def look() -> Job | None:
        job = client.polling.get_job("stt", job_id)
        return job if job.phase == phase else None

    return look


def completed(client: winnow.Winnow, job_id: str) -> Job:
    look = phase_is(client, job_id, polling_pb2.JOB_PHASE_COMPLETED)
    job = eventually(look, f"{job_id} is completed")
    assert job.result == f"text of /summaries/{job_id}".encode()
    return job


def changes(client: winnow.Winnow, job_id: str) -> list[str]:
    events = client.polling.job_events("stt", job_id)
    return [polling_pb2.JobChange.Name(each.change)[11:] for each in events]


def test_workers_poll_every_recording_to_its_end(
    client: winnow.Winnow, work: Callable[[], WorkerProcess], recording: str
) -> None:
    ids = [f"{recording}.{number}" for number in range(12)]
    results = client.polling.register_jobs("stt", [polling_client.new_job(each) for each in ids])
    assert results == [True] * len(ids)
    for _ in range(2):
        work()
    for each in ids:
        assert completed(client, each).losses == 0
        assert changes(client, each) == ["REGISTERED", "TRANSITIONED", "COMPLETED"]


def test_a_recording_that_the_provider_does_not_know_fails_for_good(
    client: winnow.Winnow, work: Callable[[], WorkerProcess], recording: str
) -> None:
    job_id = f"unknown.{recording}"
    client.polling.register_job("stt", job_id)
    work()
    look = phase_is(client, job_id, polling_pb2.JOB_PHASE_FAILED)
    assert "does not know" in eventually(look, "it failed").note


@pytest.mark.usefixtures("short_lease")
def test_what_a_killed_worker_had_is_taken_over(
    client: winnow.Winnow, provider: Provider, work: Callable[[], WorkerProcess], recording: str
) -> None:
    with provider.hanging(recording):
        client.polling.register_job("stt", recording)
        first = work()
        eventually(lambda: provider.was_asked(recording), "the first worker polls")
        token = client.polling.get_job("stt", recording).token
        first.send(signal.SIGKILL)
        first.wait()
        work()
        job = completed(client, recording)
    assert job.token > token
    assert "RETURNED" in changes(client, recording)


@pytest.mark.usefixtures("short_lease")
def test_a_worker_that_wakes_up_is_refused_and_goes_on(
    client: winnow.Winnow, provider: Provider, work: Callable[[], WorkerProcess], recording: str
) -> None:
    with provider.hanging(recording) as answer:
        client.polling.register_job("stt", recording)
        zombie = work()
        eventually(lambda: provider.was_asked(recording), "the first worker polls")
        zombie.send(signal.SIGSTOP)
        other = work()
        done = completed(client, recording)
        other.send(signal.SIGTERM)
        assert other.wait() == 0
        before = changes(client, recording)
        answer.set()
        zombie.send(signal.SIGCONT)
        eventually(lambda: "lost to another worker" in zombie.log.read_text(), "it is notified")
    assert changes(client, recording) == before
    assert client.polling.get_job("stt", recording) == done
    client.polling.register_job("stt", f"{recording}.next")
    completed(client, f"{recording}.next")


def test_an_outage_is_waited_out_without_polling_at_full_rate(
    client: winnow.Winnow, provider: Provider, work: Callable[[], WorkerProcess], recording: str
) -> None:
    provider.out_of_order = True
    client.polling.register_job("stt", recording)
    work()
    look = lambda: client.polling.get_job("stt", recording).failures >= 4  # noqa: E731
    eventually(look, "it failed four times")
    client.polling.pause_kind("stt", note="the provider is away")
    try:
        polls = provider.polls[f"/transcripts/{recording}"]
        assert polls <= 6
        assert client.polling.get_stats("stt")[0].HasField("pause_time")
        provider.out_of_order = False
    finally:
        client.polling.resume_kind("stt")
    assert completed(client, recording).failures == 0
    assert changes(client, recording).count("ATTEMPT_FAILED") >= 4


def test_a_worker_that_is_told_to_stop_gives_back_what_it_has(
    client: winnow.Winnow, provider: Provider, work: Callable[[], WorkerProcess], recording: str
) -> None:
    with provider.hanging(recording) as answer:
        client.polling.register_job("stt", recording)
        worker = work()
        eventually(lambda: provider.was_asked(recording), "the worker polls")
        worker.send(signal.SIGTERM)
        answer.set()
        assert worker.wait() == 0
    job = client.polling.get_job("stt", recording)
    assert job.phase == polling_pb2.JOB_PHASE_WAITING
    assert job.losses == 0
    work()
    completed(client, recording)


def test_a_cancelled_job_ends_when_its_worker_confirms(
    client: winnow.Winnow, provider: Provider, work: Callable[[], WorkerProcess], recording: str
) -> None:
    with provider.hanging(recording) as answer:
        client.polling.register_job("stt", recording)
        work()
        eventually(lambda: provider.was_asked(recording), "the worker polls")
        asked = client.polling.cancel_job("stt", recording, note="no longer needed")
        assert asked.cancel_requested
        answer.set()
        look = phase_is(client, recording, polling_pb2.JOB_PHASE_CANCELLED)
        eventually(look, "it is cancelled")
    assert "CANCEL_REQUESTED" in changes(client, recording)


def test_the_operators_verbs(registry: Serving, client: winnow.Winnow, recording: str) -> None:
    def jobs(*arguments: str) -> str:
        done = registry.run("jobs", *arguments)
        assert done.code == 0, done.err
        return done.out

    client.polling.register_job("stt", recording)
    assert recording in jobs("list", "--state", "processing", "--phase", "waiting")
    assert "by winnow-cli" in jobs("claim", "--count", "10", "--wait", "1")
    assert "BURIED" in jobs("bury", recording, "--note", "looks odd")
    shown = jobs("show", recording)
    assert "REGISTERED" in shown and "BURIED" in shown and "looks odd" in shown
    assert "WAITING" in jobs("requeue", recording)
    jobs("bury", recording)
    kicked = client.polling.kick_jobs("stt", request_id=recording)
    assert recording in kicked.ids
    assert client.polling.kick_jobs("stt", request_id=recording) == kicked
    jobs("bury", recording)
    assert recording in jobs("kick", "--kind", "stt")
    assert "would sweep" in jobs("policy", "preview", "--deadline", "1800")
    assert "lease 60 s" in jobs("policy", "show")
    assert "ended jobs kept 2592000 s" in jobs("policy", "show")
    jobs("cancel", recording)
    assert recording in jobs("purge", "--kind", "stt", "--older-than", "0", "--dry-run")
    assert client.polling.get_job("stt", recording).phase == polling_pb2.JOB_PHASE_CANCELLED
    assert registry.run("jobs", "purge", "--older-than", "0").code == 2, "of which kind?"
    jobs("purge", "--kind", "stt", "--older-than", "0")
    missing = registry.run("jobs", "show", recording)
    assert missing.code == 1
    assert "does not exist" in missing.err
    assert registry.run("jobs", "list", "--phase", "nowhere").code == 2
    assert "stt" in jobs("stats")
    watch = client.polling.watch_jobs("stt", timeout=60)
    token = next(watch).resume_token
    client.polling.register_job("stt", recording, state="summarizing")
    seen = jobs("watch", "--resume-token", token, "--count", "1")
    assert f"{recording}  REGISTERED" in seen
    unnamed = registry.run("jobs", "pause")
    assert unnamed.code == 2
    assert "--kind is required" in unnamed.err
    jobs("pause", "--kind", "stt")
    assert "paused since" in jobs("stats")
    jobs("resume", "--kind", "stt")


def test_what_a_handler_may_not_answer_fails_for_good(
    client: winnow.Winnow, recording: str
) -> None:
    """The job is not lost, and the call would be refused again."""
    client.polling.register_job("stt", recording, state="summarizing")
    worker = JobWorker(client.polling, "stt", lambda _: MoveTo("processing"), wait=0.2)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        look = phase_is(client, recording, polling_pb2.JOB_PHASE_FAILED)
        job = eventually(look, "it failed")
    finally:
        worker.stop()
        thread.join()
    assert "no transition from summarizing to processing" in job.note
    assert job.losses == 0
