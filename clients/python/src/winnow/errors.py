"""Errors of calls as typed exceptions, with everything that the server said about them."""

# ruff: noqa: N818  (named after the gRPC codes, as google.api_core's are)
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

_DETAILS_KEY = "grpc-status-details-bin"


@dataclass(frozen=True)
class Violation:
    """One thing wrong with a request."""

    field: str
    """Path of the field, e.g. "items[3].title"."""
    description: str
    """What is wrong, the limit, and what to do."""


@dataclass(frozen=True)
class _Details:
    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    retry_after: float | None = None


class WinnowError(Exception):
    """A call or one item of a batch failed.

    Subclasses name the gRPC code; `reason` is the exact cause, a value of
    winnow.common.v1.ErrorReason without its prefix (e.g. "INVALID_FIELD"), and empty when the error
    was made elsewhere, e.g. by the network.
    """

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __init__(self, message: str, details: _Details | None = None) -> None:
        found = details or _Details()
        self.message = message
        self.reason = found.reason
        self.metadata = found.metadata
        self.violations = found.violations
        self.retry_after = found.retry_after
        """Seconds after which the server suggests to try again, if it does."""
        super().__init__(self._text())

    def _text(self) -> str:
        head = f"{self.code.name}: {self.message}"
        listed = [f"  {violation.field}: {violation.description}" for violation in self.violations]
        return "\n".join([head, *listed])


class InvalidArgument(WinnowError):
    """Fields are missing, malformed or over a limit: see `violations`. Fix the request."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NotFound(WinnowError):
    """The resource does not exist; `metadata` has "resource" and "id"."""

    code = grpc.StatusCode.NOT_FOUND


class AlreadyExists(WinnowError):
    """The unique key is taken; `metadata` has "resource" and "id"."""

    code = grpc.StatusCode.ALREADY_EXISTS


class FailedPrecondition(WinnowError):
    """The resource's state forbids it."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class Aborted(WinnowError):
    """The resource changed meanwhile: read it again and redo the whole step."""

    code = grpc.StatusCode.ABORTED


class DeadlineExceeded(WinnowError):
    """The call took longer than its timeout. A write may have happened."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED


class ResourceExhausted(WinnowError):
    """The server's queue is full: send less, and again after `retry_after` seconds."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class Unavailable(WinnowError):
    """The server or its store cannot be reached, also after the retries."""

    code = grpc.StatusCode.UNAVAILABLE


class Unauthenticated(WinnowError):
    """The call carries no valid bearer token."""

    code = grpc.StatusCode.UNAUTHENTICATED


class PermissionDenied(WinnowError):
    """The caller may not do this."""

    code = grpc.StatusCode.PERMISSION_DENIED


class Cancelled(WinnowError):
    """The call was cancelled."""

    code = grpc.StatusCode.CANCELLED


class Unimplemented(WinnowError):
    """The server does not have this method: it is older, or runs other targets."""

    code = grpc.StatusCode.UNIMPLEMENTED


class Internal(WinnowError):
    """A defect of Winnow; `metadata["request_id"]` finds it in the server's log."""

    code = grpc.StatusCode.INTERNAL


_CLASSES: dict[grpc.StatusCode, type[WinnowError]] = {
    error.code: error for error in WinnowError.__subclasses__()
}
# What gRPC makes of a stream that a proxy resets because the server behind it died. A defect of
# Winnow is INTERNAL with a reason.
_LOST = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def _read_details(status: status_pb2.Status) -> _Details:
    reason = ""
    metadata: Mapping[str, str] = {}
    violations: tuple[Violation, ...] = ()
    retry_after: float | None = None
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            violations = tuple(Violation(v.field, v.description) for v in bad.field_violations)
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    return _Details(reason, metadata, violations, retry_after)


def _make(code: grpc.StatusCode, message: str, details: _Details) -> WinnowError:
    error_class = _CLASSES.get(code)
    if error_class is not None:
        return error_class(message, details)
    error = WinnowError(f"{code.name}: {message}", details)
    error.code = code
    return error


def from_status(status: status_pb2.Status) -> WinnowError:
    """The error of one item of a batch or stream."""
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    return _make(code, status.message, _read_details(status))


def from_rpc_error(error: grpc.RpcError) -> WinnowError:
    """The error of a call."""
    if not isinstance(error, grpc.Call):
        return _make(grpc.StatusCode.UNKNOWN, str(error), _Details())
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                status.ParseFromString(value)
            except DecodeError:  # not ours to understand: code and message still say what happened
                status.Clear()
    details = _read_details(status)
    code, message = error.code(), error.details() or ""
    if not details.reason and code in _LOST:
        return _make(grpc.StatusCode.UNAVAILABLE, f"the connection was lost: {message}", details)
    return _make(code, message, details)
