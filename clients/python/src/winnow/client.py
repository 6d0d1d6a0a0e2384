"""The way in: connect() and the client of all services."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from winnow.classification_client import ClassificationClient
from winnow.collector_client import CollectorClient
from winnow.connection import DEFAULT_TIMEOUT, Connection, Tls, open_channel
from winnow.dedup_client import DedupClient
from winnow.events_client import EventsClient
from winnow.newsfeed_client import NewsFeedClient
from winnow.polling_client import PollingClient
from winnow.retry import RetryPolicy

DEFAULT_ADDRESS = "127.0.0.1:7400"


class Winnow:
    """The services of one address, over one connection. Use it in a `with`, or close() it.

    It may be used by several threads.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.classification = ClassificationClient(connection)
        self.collector = CollectorClient(connection)
        self.dedup = DedupClient(connection)
        self.events = EventsClient(connection)
        self.newsfeed = NewsFeedClient(connection)
        self.polling = PollingClient(connection)

    def close(self) -> None:
        """Ends the connection and what is in flight on it."""
        self.connection.channel.close()

    def __enter__(self) -> Winnow:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def connect(
    address: str = DEFAULT_ADDRESS,
    *,
    token: str | Callable[[], str] | None = None,
    tls: Tls | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    retry: RetryPolicy | None = None,
) -> Winnow:
    """A client of the server at `address` (HOST:PORT). Nothing is sent before the first call.

    token: bearer token, or a function that gives the current one, e.g. read from a file.
    tls: transport security; without it the connection is in the clear.
    timeout: seconds of a call that has no timeout of its own, all its tries together.
    """
    if timeout <= 0:
        raise ValueError("timeout must be positive")
    read_token = (lambda: token) if isinstance(token, str) else token
    return Winnow(
        Connection(
            channel=open_channel(address, tls),
            timeout=timeout,
            retry=retry or RetryPolicy(),
            token=read_token,
        )
    )
