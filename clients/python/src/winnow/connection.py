"""One connection to a Winnow server and the rules that every call over it follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from winnow.errors import DeadlineExceeded, WinnowError, from_rpc_error
from winnow.retry import NO_RETRY, RetryPolicy

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Metadata = tuple[tuple[str, str], ...]

DEFAULT_TIMEOUT = 10.0
# The server's own limit; gRPC's default is 4 MB.
_MAX_MESSAGE_BYTES = 80 * 1024 * 1024


@dataclass(frozen=True)
class Tls:
    """Transport security. Paths of PEM files."""

    ca_file: str | Path | None = None
    """Authorities that the server's certificate must come from; default: the system's."""
    cert_file: str | Path | None = None
    """The client's own certificate chain (mTLS); with key_file."""
    key_file: str | Path | None = None
    """Its private key; with cert_file."""
    server_name: str | None = None
    """Name that the server's certificate must have, when it is not the address's host."""

    def credentials(self) -> grpc.ChannelCredentials:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("Tls: cert_file and key_file go together")
        return grpc.ssl_channel_credentials(
            root_certificates=_read(self.ca_file),
            private_key=_read(self.key_file),
            certificate_chain=_read(self.cert_file),
        )


def _read(path: str | Path | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()


def channel_options() -> list[tuple[str, str | int]]:
    return [
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.enable_retries", 0),  # retries are RetryPolicy's, which reads RetryInfo
        ("grpc.primary_user_agent", "winnow-python"),
        # http_proxy is for the web: a proxy between a client and its server breaks streams, and
        # cannot reach this machine's own addresses.
        ("grpc.enable_http_proxy", 0),
        # A server that comes back is found as soon as the next tries come. gRPC's own backoff grows
        # to two minutes, is shared by all channels of a process to one address, and fails each call
        # meanwhile without looking.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]


def open_channel(address: str, tls: Tls | None) -> grpc.Channel:
    """A channel; it connects with the first call."""
    options = channel_options()
    if tls is None:
        return grpc.insecure_channel(address, options)
    if tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return grpc.secure_channel(address, tls.credentials(), options)


@dataclass(frozen=True)
class Connection:
    """A channel with what all calls over it have in common."""

    channel: grpc.Channel
    timeout: float = DEFAULT_TIMEOUT
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    token: Callable[[], str] | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def metadata(self) -> Metadata:
        """What each call carries; the token is asked for each time, so that it may change."""
        return () if self.token is None else (("authorization", f"Bearer {self.token()}"),)

    def unary(
        self,
        method: grpc.UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
        idempotent: bool = True,
    ) -> Response:
        """One call. `timeout` (seconds) is for all its tries together."""
        total = self.timeout if timeout is None else timeout
        deadline = self.clock() + total
        policy = self.retry if idempotent else NO_RETRY
        failures = 0
        while True:
            left = deadline - self.clock()
            if left <= 0:
                raise DeadlineExceeded(f"no time left of {total:g} s")
            try:
                return method(request, timeout=left, metadata=self.metadata())
            except grpc.RpcError as raised:
                error = from_rpc_error(raised)
                failures += 1
                self._wait_or_raise(error, policy.delay(error, failures), deadline, raised)

    def watch(
        self,
        method: grpc.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        timeout: float | None = None,
    ) -> Iterator[Response]:
        """A server stream's messages, without a deadline unless there is a `timeout` (seconds).

        Closing the iterator ends the call. Errors are raised as for calls; none is tried again.
        """
        call = method(request, timeout=timeout, metadata=self.metadata())
        try:
            yield from call
        except grpc.RpcError as raised:
            raise from_rpc_error(raised) from raised
        finally:
            call.cancel()  # type: ignore[no-untyped-call]  # grpc-stubs leaves it untyped

    def _wait_or_raise(
        self, error: WinnowError, delay: float | None, deadline: float, cause: grpc.RpcError
    ) -> None:
        if delay is None or self.clock() + delay >= deadline:
            raise error from cause
        self.sleep(delay)
