"""A worker of PollingRegistryService: claims jobs, keeps leases, reports the outcomes."""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from winnow.errors import FailedPrecondition, InvalidArgument, NotFound, WinnowError
from winnow.polling_client import HeldJob, Job, PollingClient

_log = logging.getLogger("winnow.worker")


@dataclass(frozen=True)
class Complete:
    """The job is done."""

    result: bytes = b""


@dataclass(frozen=True)
class Reschedule:
    """Its provider is not done: poll it again after `delay` seconds, or as the policy says."""

    delay: float | None = None


@dataclass(frozen=True)
class MoveTo:
    """Into another state, due again after `delay` seconds."""

    state: str
    delay: float = 0


@dataclass(frozen=True)
class Release:
    """Given back as it is: what a handler answers that was asked to stop."""


Outcome = Complete | Reschedule | MoveTo | Release


class FatalError(Exception):
    """Raised by a handler: the job can never be done."""


class TransientError(Exception):
    """Raised by a handler: to be tried again, after `retry_after` seconds at least."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Lease:
    """A job that this worker has, as its handler sees it."""

    def __init__(self, client: PollingClient, job: Job) -> None:
        self._client = client
        self.job = job
        self.stop = threading.Event()
        """Set when the handler should end: the job is lost or cancelled, or the worker stops."""
        self.lost = False
        self.cancel_requested = False

    def progress(self, percent: int, note: str = "") -> None:
        """Reports progress: restarts the job's no-progress clock."""
        try:
            self._client.report_progress(self.job, percent, note)
        except (FailedPrecondition, NotFound) as error:
            if not _is_loss(error):
                raise
            self.lost = True
            self.stop.set()


Handler = Callable[[Lease], Outcome]


def _is_loss(error: WinnowError) -> bool:
    """Whether this worker has lost the job."""
    return isinstance(error, NotFound) or error.reason == "STALE_TOKEN"


class JobWorker:
    """Runs `handler` for each job that it claims; any exception but FatalError is transient.

    run() works until stop() is called, from a signal handler or another thread. Leases are kept by
    one heartbeat for all jobs, on a thread of its own. A handler of a lost job is notified by
    `lease.stop`, and what it answers is dropped. While the server is away the worker waits, longer
    each time, and goes on by itself.
    """

    def __init__(
        self,
        client: PollingClient,
        kind: str,
        handler: Handler,
        *,
        owner: str = "",
        concurrency: int = 8,
        wait: float = 5.0,
        heartbeat: float = 10.0,
        first_backoff: float = 0.5,
        max_backoff: float = 30.0,
    ) -> None:
        if not 1 <= concurrency <= 100:
            raise ValueError("concurrency must be 1 to 100")
        self._client = client
        self._kind = kind
        self._handler = handler
        self._owner = owner or f"{socket.gethostname()}-{os.getpid()}"
        self._concurrency = concurrency
        self._wait = wait
        self._heartbeat = heartbeat
        self._first_backoff = first_backoff
        self._max_backoff = max_backoff
        self._stopping = threading.Event()
        self._done = threading.Event()
        self._changed = threading.Condition()
        self._held: dict[int, Lease] = {}  # by token

    def stop(self) -> None:
        """Claims no more, asks the handlers to end, and lets run() return when they have."""
        self._stopping.set()

    def run(self) -> None:
        """Works until stop(). Jobs in hand are finished or given back."""
        beats = threading.Thread(target=self._beat, name="winnow-heartbeat", daemon=True)
        beats.start()
        try:
            with ThreadPoolExecutor(self._concurrency, "winnow-job") as pool:
                self._claim_until_stopped(pool)
                self._ask_to_stop()
        finally:
            self._done.set()
            beats.join()

    def _claim_until_stopped(self, pool: ThreadPoolExecutor) -> None:
        failures = 0
        while not self._stopping.is_set():
            free = self._await_room()
            if free == 0:
                continue
            try:
                jobs = self._client.claim_jobs(
                    self._kind, self._owner, max_jobs=free, wait=self._wait
                )
                failures = 0
            except WinnowError as error:
                failures += 1
                _log.warning("no jobs can be claimed now: %s", error)
                self._stopping.wait(self._backoff(failures))
                continue
            for job in jobs:
                lease = Lease(self._client, job)
                with self._changed:
                    self._held[job.token] = lease
                pool.submit(self._work, lease)

    def _await_room(self) -> int:
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._held) < self._concurrency or self._stopping.is_set(), 0.5
            )
            return 0 if self._stopping.is_set() else self._concurrency - len(self._held)

    def _backoff(self, failures: int) -> float:
        most = min(self._max_backoff, self._first_backoff * 2.0 ** min(failures - 1, 16))
        return most * (0.5 + random.random() / 2)

    def _ask_to_stop(self) -> None:
        with self._changed:
            for lease in self._held.values():
                lease.stop.set()

    def _work(self, lease: Lease) -> None:
        try:
            self._finish_or_fail(lease, self._handle(lease))
        except WinnowError as error:
            if _is_loss(error):
                _log.warning("job %s was lost to another worker: dropped", lease.job.id)
            else:
                _log.warning("job %s is left to its lease: %s", lease.job.id, error)
        finally:
            with self._changed:
                del self._held[lease.job.token]
                self._changed.notify_all()

    def _handle(self, lease: Lease) -> Outcome | Exception:
        if self._stopping.is_set():
            return Release()
        try:
            return self._handler(lease)
        except Exception as error:
            if not isinstance(error, (FatalError, TransientError)):
                _log.exception("the handler of job %s failed", lease.job.id)
            return error

    def _finish_or_fail(self, lease: Lease, outcome: Outcome | Exception) -> None:
        try:
            self._finish(lease, outcome)
        except (FailedPrecondition, InvalidArgument) as error:
            if _is_loss(error):
                raise
            # It would be refused the next time, too: a result over the limit, a transition that
            # the kind's policy does not have.
            refused = FatalError(f"what the handler answered was refused: {error}")
            self._finish(lease, refused)

    def _finish(self, lease: Lease, outcome: Outcome | Exception) -> None:
        job = lease.job
        if lease.lost:
            _log.warning("job %s was lost to another worker: dropped", job.id)
        elif lease.cancel_requested:
            self._client.cancel_job(job.kind, job.id, token=job.token)
        elif isinstance(outcome, Complete):
            self._client.complete_job(job, outcome.result)
        elif isinstance(outcome, Reschedule):
            self._client.reschedule_job(job, outcome.delay)
        elif isinstance(outcome, MoveTo):
            self._client.transition_job(job, outcome.state, delay=outcome.delay)
        elif isinstance(outcome, Release):
            self._client.release_job(job)
        else:
            error = (str(outcome) or type(outcome).__name__)[:1000]
            retry_after = getattr(outcome, "retry_after", None)
            fatal = isinstance(outcome, FatalError)
            self._client.fail_job(job, error, fatal=fatal, retry_after=retry_after)

    def _beat(self) -> None:
        while not self._done.wait(self._heartbeat):
            with self._changed:
                held = dict(self._held)
            if not held:
                continue
            try:
                self._beat_once(held)
            except WinnowError as error:
                # While the server is unavailable, no other worker gets the jobs.
                _log.warning("no heartbeat now: %s", error)

    def _beat_once(self, held: dict[int, Lease]) -> None:
        leases = list(held.values())
        named = [HeldJob(id=lease.job.id, token=lease.job.token) for lease in leases]
        results = self._client.heartbeat_jobs(self._kind, named, timeout=self._heartbeat)
        for lease, result in zip(leases, results, strict=True):
            lease.lost = lease.lost or result.lost
            lease.cancel_requested = lease.cancel_requested or result.cancel_requested
            if lease.lost or lease.cancel_requested:
                lease.stop.set()
