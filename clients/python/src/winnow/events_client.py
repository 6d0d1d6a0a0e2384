"""DeadLetterService: events that a consumer could not take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from winnow import paging
from winnow.connection import Connection
from winnow.events.v1 import dead_letter_service_pb2
from winnow.events.v1.dead_letter_service_pb2_grpc import DeadLetterServiceStub

DeadLetter = dead_letter_service_pb2.DeadLetter
DeadLetterSelection = dead_letter_service_pb2.DeadLetterSelection
ListDeadLettersResponse = dead_letter_service_pb2.ListDeadLettersResponse
ReplayDeadLettersResponse = dead_letter_service_pb2.ReplayDeadLettersResponse
PurgeDeadLettersResponse = dead_letter_service_pb2.PurgeDeadLettersResponse


class EventsClient:
    """Typed calls of winnow.events.v1.DeadLetterService. Every one is safe to repeat."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = DeadLetterServiceStub(connection.channel)

    def list_dead_letters(
        self,
        *,
        queue: str = "",
        event: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ListDeadLettersResponse:
        """One page of dead letters, of one queue or one event where these are given."""
        request = dead_letter_service_pb2.ListDeadLettersRequest(
            queue=queue, event=event, page_size=page_size, page_token=page_token
        )
        return self._connection.unary(self._stub.ListDeadLetters, request, timeout=timeout)

    def dead_letters(
        self,
        *,
        queue: str = "",
        event: str = "",
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[DeadLetter]:
        """All dead letters. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[DeadLetter], str]:
            page = self.list_dead_letters(
                queue=queue,
                event=event,
                page_size=page_size,
                page_token=page_token,
                timeout=timeout,
            )
            return page.dead_letters, page.next_page_token

        return paging.iterate(fetch)

    def replay_dead_letters(
        self,
        selection: DeadLetterSelection,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> ReplayDeadLettersResponse:
        """Delivers dead letters again, at most 10,000 a call."""
        request = dead_letter_service_pb2.ReplayDeadLettersRequest(
            selection=selection, dry_run=dry_run
        )
        return self._connection.unary(self._stub.ReplayDeadLetters, request, timeout=timeout)

    def purge_dead_letters(
        self,
        selection: DeadLetterSelection,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> PurgeDeadLettersResponse:
        """Throws dead letters away, for good, at most 10,000 a call."""
        request = dead_letter_service_pb2.PurgeDeadLettersRequest(
            selection=selection, dry_run=dry_run
        )
        return self._connection.unary(self._stub.PurgeDeadLetters, request, timeout=timeout)
