"""PollingRegistryService: every job in flight is in exactly one state, and someone will notice."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence

from google.protobuf.field_mask_pb2 import FieldMask

from winnow import paging
from winnow.connection import Connection
from winnow.errors import WinnowError, from_status
from winnow.polling.v1 import polling_pb2, polling_service_pb2
from winnow.polling.v1.polling_service_pb2_grpc import PollingRegistryServiceStub
from winnow.polling_messages import new_job as new_job
from winnow.polling_messages import to_duration as to_duration

HeartbeatResult = polling_service_pb2.HeartbeatResult
HeldJob = polling_service_pb2.HeldJob
ImportJobResult = polling_service_pb2.ImportJobResult
InFlightJob = polling_service_pb2.InFlightJob
Job = polling_pb2.Job
JobEvent = polling_pb2.JobEvent
JobPhase = polling_pb2.JobPhase
JobPolicy = polling_pb2.Policy
KickJobsResponse = polling_service_pb2.KickJobsResponse
KindStats = polling_service_pb2.KindStats
NewJob = polling_service_pb2.NewJob
PreviewPolicyResponse = polling_service_pb2.PreviewPolicyResponse
PurgeJobsResponse = polling_service_pb2.PurgeJobsResponse
StaleReason = polling_pb2.StaleReason
WatchJobsResponse = polling_service_pb2.WatchJobsResponse

_ANSWER_TIME = 5.0  # what a claim's answer may take after its wait


def _id(request_id: str) -> str:
    # The calls of a job are tried again when an answer is lost: this makes that safe.
    return request_id or str(uuid.uuid4())


class PollingClient:
    """Typed calls of winnow.polling.v1.PollingRegistryService. Durations are seconds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = PollingRegistryServiceStub(connection.channel)

    def register_job(
        self,
        kind: str,
        job_id: str,
        payload: bytes = b"",
        *,
        state: str = "",
        delay: float | None = None,
        timeout: float | None = None,
    ) -> Job:
        """Registers a job, or answers the one that is there with the same payload."""
        job = new_job(job_id, payload, state=state, delay=delay)
        request = polling_service_pb2.RegisterJobRequest(kind=kind, job=job)
        return self._connection.unary(self._stub.RegisterJob, request, timeout=timeout).job

    def register_jobs(
        self, kind: str, jobs: Iterable[NewJob], *, timeout: float | None = None
    ) -> list[bool | WinnowError]:
        """Registers up to 1,000 jobs; of each, whether it is new, or its error."""
        request = polling_service_pb2.BatchRegisterJobsRequest(kind=kind, jobs=jobs)
        response = self._connection.unary(self._stub.BatchRegisterJobs, request, timeout=timeout)
        return [
            from_status(result.error) if result.HasField("error") else result.created
            for result in response.results
        ]

    def import_jobs(
        self,
        kind: str,
        jobs: Iterable[InFlightJob],
        *,
        dry_run: bool = False,
        note: str = "",
        actor: str = "",
        timeout: float | None = None,
    ) -> list[ImportJobResult | WinnowError]:
        """Takes over up to 1,000 jobs that another registry has in flight, with their age.

        Jobs that are here already are left as they are, so that it may be repeated.
        """
        request = polling_service_pb2.ImportJobsRequest(
            kind=kind, jobs=jobs, dry_run=dry_run, note=note, actor=actor
        )
        response = self._connection.unary(self._stub.ImportJobs, request, timeout=timeout)
        return [
            from_status(result.error) if result.HasField("error") else result
            for result in response.results
        ]

    def claim_jobs(
        self,
        kind: str,
        owner: str,
        *,
        max_jobs: int = 1,
        wait: float = 0,
        timeout: float | None = None,
    ) -> Sequence[Job]:
        """Takes due jobs, waiting up to `wait` seconds for the first. Not tried again by itself."""
        request = polling_service_pb2.ClaimJobsRequest(
            kind=kind, owner=owner, max_jobs=max_jobs, wait=to_duration(wait)
        )
        limit = wait + _ANSWER_TIME if timeout is None else timeout
        return self._connection.unary(
            self._stub.ClaimJobs, request, timeout=limit, idempotent=False
        ).jobs

    def heartbeat_jobs(
        self, kind: str, jobs: Iterable[HeldJob], *, timeout: float | None = None
    ) -> Sequence[HeartbeatResult]:
        """Extends leases; one result per job, in order."""
        request = polling_service_pb2.HeartbeatJobsRequest(kind=kind, jobs=jobs)
        return self._connection.unary(self._stub.HeartbeatJobs, request, timeout=timeout).results

    def report_progress(
        self, job: Job, percent: int = 0, note: str = "", *, timeout: float | None = None
    ) -> Job:
        """Reports progress of a claimed job."""
        request = polling_service_pb2.ReportProgressRequest(
            kind=job.kind, id=job.id, token=job.token, percent=percent, note=note,
            request_id=_id(""),
        )  # fmt: skip
        return self._connection.unary(self._stub.ReportProgress, request, timeout=timeout).job

    def reschedule_job(
        self,
        job: Job,
        delay: float | None = None,
        *,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Job:
        """Gives a claimed job back, to be polled again after `delay`, or as its policy says."""
        request = polling_service_pb2.RescheduleJobRequest(
            kind=job.kind, id=job.id, token=job.token, delay=to_duration(delay),
            request_id=_id(request_id),
        )  # fmt: skip
        return self._connection.unary(self._stub.RescheduleJob, request, timeout=timeout).job

    def transition_job(
        self,
        job: Job,
        to_state: str,
        *,
        delay: float | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Job:
        """Moves a claimed job into another state; with a `delay` it is given back."""
        request = polling_service_pb2.TransitionJobRequest(
            kind=job.kind, id=job.id, token=job.token, to_state=to_state,
            delay=to_duration(delay), request_id=_id(request_id),
        )  # fmt: skip
        return self._connection.unary(self._stub.TransitionJob, request, timeout=timeout).job

    def complete_job(
        self,
        job: Job,
        result: bytes = b"",
        *,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Job:
        """Ends a claimed job as done."""
        request = polling_service_pb2.CompleteJobRequest(
            kind=job.kind, id=job.id, token=job.token, result=result, request_id=_id(request_id)
        )
        return self._connection.unary(self._stub.CompleteJob, request, timeout=timeout).job

    def fail_job(
        self,
        job: Job,
        error: str,
        *,
        fatal: bool = False,
        retry_after: float | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Job:
        """Reports a failure: a transient one is retried after a backoff."""
        request = polling_service_pb2.FailJobRequest(
            kind=job.kind, id=job.id, token=job.token, fatal=fatal, error=error,
            retry_after=to_duration(retry_after), request_id=_id(request_id),
        )  # fmt: skip
        return self._connection.unary(self._stub.FailJob, request, timeout=timeout).job

    def release_job(self, job: Job, *, request_id: str = "", timeout: float | None = None) -> Job:
        """Gives a claimed job back as it is, due at once."""
        request = polling_service_pb2.ReleaseJobRequest(
            kind=job.kind, id=job.id, token=job.token, request_id=_id(request_id)
        )
        return self._connection.unary(self._stub.ReleaseJob, request, timeout=timeout).job

    def cancel_job(
        self,
        kind: str,
        job_id: str,
        *,
        token: int = 0,
        note: str = "",
        actor: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Job:
        """Cancels a job; its worker confirms with the token."""
        request = polling_service_pb2.CancelJobRequest(
            kind=kind, id=job_id, token=token, note=note, actor=actor, request_id=_id(request_id)
        )
        return self._connection.unary(self._stub.CancelJob, request, timeout=timeout).job

    def get_job(self, kind: str, job_id: str, *, timeout: float | None = None) -> Job:
        """Reads a job."""
        request = polling_service_pb2.GetJobRequest(kind=kind, id=job_id)
        return self._connection.unary(self._stub.GetJob, request, timeout=timeout).job

    def jobs(
        self,
        kind: str,
        *,
        state: str = "",
        phase: JobPhase.ValueType = polling_pb2.JOB_PHASE_UNSPECIFIED,
        owner: str = "",
        min_age: float | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Job]:
        """The jobs of a kind by id, without payload and result."""

        def fetch(page_token: str) -> tuple[Sequence[Job], str]:
            request = polling_service_pb2.ListJobsRequest(
                kind=kind, state=state, phase=phase, owner=owner, min_age=to_duration(min_age),
                page_size=page_size, page_token=page_token,
            )  # fmt: skip
            page = self._connection.unary(self._stub.ListJobs, request, timeout=timeout)
            return page.jobs, page.next_page_token

        return paging.iterate(fetch)

    def job_events(
        self, kind: str, job_id: str, *, timeout: float | None = None
    ) -> Iterator[JobEvent]:
        """A job's history, oldest first."""

        def fetch(page_token: str) -> tuple[Sequence[JobEvent], str]:
            request = polling_service_pb2.ListJobEventsRequest(
                kind=kind, id=job_id, page_token=page_token
            )
            page = self._connection.unary(self._stub.ListJobEvents, request, timeout=timeout)
            return page.events, page.next_page_token

        return paging.iterate(fetch)

    def requeue_job(
        self,
        kind: str,
        job_id: str,
        *,
        note: str = "",
        actor: str = "",
        timeout: float | None = None,
    ) -> Job:
        """Brings a job back that was given up."""
        request = polling_service_pb2.RequeueJobRequest(
            kind=kind, id=job_id, note=note, actor=actor, request_id=_id("")
        )
        return self._connection.unary(self._stub.RequeueJob, request, timeout=timeout).job

    def bury_job(
        self,
        kind: str,
        job_id: str,
        *,
        note: str = "",
        actor: str = "",
        timeout: float | None = None,
    ) -> Job:
        """Takes a job out of flight."""
        request = polling_service_pb2.BuryJobRequest(
            kind=kind, id=job_id, note=note, actor=actor, request_id=_id("")
        )
        return self._connection.unary(self._stub.BuryJob, request, timeout=timeout).job

    def get_policy(self, kind: str, *, version: int = 0, timeout: float | None = None) -> JobPolicy:
        """The rules of a kind."""
        request = polling_service_pb2.GetPolicyRequest(kind=kind, version=version)
        return self._connection.unary(self._stub.GetPolicy, request, timeout=timeout).policy

    def update_policy(
        self,
        kind: str,
        policy: JobPolicy,
        fields: Iterable[str] = (),
        *,
        note: str = "",
        actor: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> JobPolicy:
        """Changes the `fields` of a kind's rules, or all; makes a kind that is not there."""
        request = polling_service_pb2.UpdatePolicyRequest(
            kind=kind, policy=policy, update_mask=FieldMask(paths=fields), note=note,
            actor=actor, request_id=_id(request_id),
        )  # fmt: skip
        return self._connection.unary(self._stub.UpdatePolicy, request, timeout=timeout).policy

    def preview_policy(
        self,
        kind: str,
        policy: JobPolicy,
        fields: Iterable[str] = (),
        *,
        max_ids: int = 0,
        timeout: float | None = None,
    ) -> PreviewPolicyResponse:
        """What a sweep by other rules would take now."""
        request = polling_service_pb2.PreviewPolicyRequest(
            kind=kind, policy=policy, update_mask=FieldMask(paths=fields), max_ids=max_ids
        )
        return self._connection.unary(self._stub.PreviewPolicy, request, timeout=timeout)

    def pause_kind(
        self, kind: str, *, note: str = "", actor: str = "", timeout: float | None = None
    ) -> None:
        """Stops claims of a kind and its clocks: its provider is away."""
        request = polling_service_pb2.PauseKindRequest(kind=kind, note=note, actor=actor)
        self._connection.unary(self._stub.PauseKind, request, timeout=timeout)

    def resume_kind(
        self, kind: str, *, note: str = "", actor: str = "", timeout: float | None = None
    ) -> None:
        """Goes on where pause_kind stopped."""
        request = polling_service_pb2.ResumeKindRequest(kind=kind, note=note, actor=actor)
        self._connection.unary(self._stub.ResumeKind, request, timeout=timeout)

    def get_stats(self, kind: str = "", *, timeout: float | None = None) -> Sequence[KindStats]:
        """Jobs by state and phase, of one kind or of all."""
        request = polling_service_pb2.GetStatsRequest(kind=kind)
        return self._connection.unary(self._stub.GetStats, request, timeout=timeout).kinds

    def watch_jobs(
        self,
        kind: str,
        *,
        job_id: str = "",
        resume_token: str = "",
        timeout: float | None = None,
    ) -> Iterator[WatchJobsResponse]:
        """What happens to jobs, from now or from a token on, until it is closed."""
        request = polling_service_pb2.WatchJobsRequest(
            kind=kind, id=job_id, resume_token=resume_token
        )
        return self._connection.watch(self._stub.WatchJobs, request, timeout=timeout)

    def kick_jobs(
        self,
        kind: str,
        *,
        reason: StaleReason.ValueType = polling_pb2.STALE_REASON_UNSPECIFIED,
        max_jobs: int = 0,
        note: str = "",
        actor: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> KickJobsResponse:
        """Brings buried jobs back, those first that were buried first."""
        request = polling_service_pb2.KickJobsRequest(
            kind=kind, reason=reason, max_jobs=max_jobs, note=note, actor=actor,
            request_id=_id(request_id),
        )  # fmt: skip
        return self._connection.unary(self._stub.KickJobs, request, timeout=timeout)

    def purge_jobs(
        self,
        kind: str,
        min_age: float,
        *,
        phases: Iterable[JobPhase.ValueType] = (),
        max_jobs: int = 0,
        dry_run: bool = False,
        note: str = "",
        actor: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> PurgeJobsResponse:
        """Deletes jobs that ended `min_age` seconds ago or earlier; a dry run only counts."""
        request = polling_service_pb2.PurgeJobsRequest(
            kind=kind, min_age=to_duration(min_age), phases=phases, max_jobs=max_jobs,
            dry_run=dry_run, note=note, actor=actor, request_id=_id(request_id),
        )  # fmt: skip
        return self._connection.unary(self._stub.PurgeJobs, request, timeout=timeout)
