"""Ingest streams that survive a lost connection.

The server answers each request of a stream in order, and what it has answered is durable. So what
is not answered yet is kept here, at most `window` requests, and sent again on a new stream: safe,
because every write of Winnow is idempotent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar, cast

import grpc
from google.protobuf.message import Message

from winnow.connection import Connection
from winnow.errors import DeadlineExceeded, WinnowError, from_rpc_error

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Response_co = TypeVar("Response_co", covariant=True)

DEFAULT_WINDOW = 2000
DEFAULT_IDLE_TIMEOUT = 60.0


class _Call(Protocol[Response_co]):
    """What a running bidi call offers."""

    def __iter__(self) -> Iterator[Response_co]: ...

    def cancel(self) -> bool: ...


class _Sender(Generic[Request]):
    """What is to be sent, shared by the streams that follow one another.

    gRPC reads requests on a thread of its own, which may outlive a broken stream by as long as the
    caller's iterable takes for its next element. Elements are therefore taken one thread at a time
    and put into `_pending` at once, whichever stream asked: none is lost with a stream.
    """

    def __init__(self, source: Iterator[Request], window: int) -> None:
        self._source = source
        self._window = window
        self._changed = threading.Condition()
        self._taking = threading.Lock()
        self._pending: deque[Request] = deque()  # taken and not answered, oldest first
        self._sent = 0  # how many of them the current stream was given
        self._stream = 0
        self._exhausted = False
        self.source_error: BaseException | None = None

    def open(self) -> Iterator[Request]:
        """Requests for a new stream: what is pending first. Ends the ones before."""
        with self._changed:
            self._stream += 1
            self._sent = 0
            self._changed.notify_all()
            return self._requests(self._stream)

    def close(self) -> None:
        """Ends the current stream's requests."""
        self.open()

    def _requests(self, stream: int) -> Iterator[Request]:
        while True:
            with self._changed:
                while self._is_full(stream):
                    self._changed.wait()
                if stream != self._stream:
                    return
                if self._sent < len(self._pending):
                    self._sent += 1
                    request = self._pending[self._sent - 1]
                elif self._exhausted:
                    return
                else:
                    request = None
            if request is None:
                self._take(stream)
            else:
                yield request

    def _is_full(self, stream: int) -> bool:
        nothing_to_send = self._sent >= len(self._pending)
        return stream == self._stream and nothing_to_send and len(self._pending) >= self._window

    def _take(self, stream: int) -> None:
        with self._taking:
            with self._changed:
                if stream != self._stream or self._exhausted or self._sent < len(self._pending):
                    return  # another stream's thread has seen to it meanwhile
            try:
                taken: list[Request] = [next(self._source)]
            except StopIteration:
                taken = []
            except BaseException as error:  # raised once everything before it is answered
                taken = []
                self.source_error = error
            with self._changed:
                self._pending.extend(taken)
                self._exhausted = not taken
                self._changed.notify_all()

    def answered(self) -> Request:
        """The request that the next response belongs to; it is done."""
        with self._changed:
            self._sent -= 1
            self._changed.notify_all()
            return self._pending.popleft()

    def waiting(self) -> bool:
        """Whether an answer is due."""
        with self._changed:
            return bool(self._pending)


class _Watchdog:
    """Cancels a stream that owes an answer and has given none for `idle_timeout` seconds."""

    def __init__(self, call: _Call[Message], idle_timeout: float, sender: _Sender[Request]):
        self._call = call
        self._idle_timeout = idle_timeout
        self._waiting = sender.waiting
        self._changed = threading.Condition()
        self._progress = 0
        self._ended = False
        self.fired = False
        threading.Thread(target=self._watch, name="winnow-ingest-watchdog", daemon=True).start()

    def _watch(self) -> None:
        with self._changed:
            while not self._ended:
                seen, was_waiting = self._progress, self._waiting()
                self._changed.wait(self._idle_timeout)
                if self._ended or self._progress != seen or not (was_waiting and self._waiting()):
                    continue
                self.fired = True
                self._call.cancel()
                return

    def progress(self) -> None:
        with self._changed:
            self._progress += 1

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def ingest(
    connection: Connection,
    method: grpc.StreamStreamMultiCallable[Request, Response],
    requests: Iterable[Request],
    *,
    window: int = DEFAULT_WINDOW,
    idle_timeout: float = DEFAULT_IDLE_TIMEOUT,
) -> Iterator[tuple[Request, Response]]:
    """Sends `requests` and yields each with its response, in order.

    UNAVAILABLE is tried again with backoff for as long as each stream gets something answered; any
    other error is raised. An error of `requests` itself is raised after all that came before it has
    been answered.
    """
    if window < 1:
        raise ValueError("window must be at least 1")
    sender = _Sender(iter(requests), window)
    failures = 0
    try:
        while True:
            answered_here = 0
            try:
                for pair in _one_stream(connection, method, sender, idle_timeout):
                    answered_here += 1
                    yield pair
                break
            except WinnowError as error:
                failures = 1 if answered_here else failures + 1
                delay = connection.retry.delay(error, failures)
                if delay is None:
                    raise
                connection.sleep(delay)
    finally:
        sender.close()
    if sender.source_error is not None:
        raise sender.source_error


def _one_stream(
    connection: Connection,
    method: grpc.StreamStreamMultiCallable[Request, Response],
    sender: _Sender[Request],
    idle_timeout: float,
) -> Iterator[tuple[Request, Response]]:
    started = method(sender.open(), metadata=connection.metadata())
    call = cast("_Call[Response]", started)  # grpc-stubs leaves cancel() untyped
    watchdog = _Watchdog(call, idle_timeout, sender)
    try:
        for response in call:
            watchdog.progress()
            yield sender.answered(), response
    except grpc.RpcError as raised:
        if watchdog.fired:
            raise DeadlineExceeded(f"no answer on the stream for {idle_timeout:g} s") from raised
        raise from_rpc_error(raised) from raised
    finally:
        watchdog.end()
        call.cancel()  # no effect on a call that has ended
    if sender.waiting():
        raise WinnowError("the server ended the stream before it had answered every request")
