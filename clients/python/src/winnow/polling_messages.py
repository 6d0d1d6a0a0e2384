"""Makes messages of PollingRegistryService from Python's values."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration

from winnow.polling.v1.polling_service_pb2 import NewJob


def to_duration(seconds: float | None) -> Duration | None:
    if seconds is None:
        return None
    duration = Duration()
    duration.FromMicroseconds(round(seconds * 1e6))
    return duration


def new_job(
    job_id: str, payload: bytes = b"", *, state: str = "", delay: float | None = None
) -> NewJob:
    """A job to register; `delay`: seconds until it is first due."""
    return NewJob(id=job_id, state=state, payload=payload, delay=to_duration(delay))
