"""CollectorService: raw items in, and reading them back."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence

import grpc
from google.protobuf.field_mask_pb2 import FieldMask

from winnow import ingest, paging
from winnow.collector.v1 import collector_pb2, collector_service_pb2, source_pb2
from winnow.collector.v1.collector_service_pb2_grpc import CollectorServiceStub
from winnow.connection import Connection
from winnow.errors import WinnowError, from_rpc_error, from_status

Item = collector_pb2.Item
StoredItem = collector_pb2.StoredItem
ListItemsResponse = collector_service_pb2.ListItemsResponse
Source = source_pb2.Source
Run = source_pb2.Run
Quota = source_pb2.Quota
RunOutcome = source_pb2.RunOutcome
SourceState = source_pb2.SourceState
WatchRunsResponse = collector_service_pb2.WatchRunsResponse

MAX_BATCH = 1000


def _put_result(result: collector_service_pb2.PutItemResult) -> StoredItem | WinnowError:
    return from_status(result.error) if result.HasField("error") else result.stored


class CollectorClient:
    """Typed calls of winnow.collector.v1.CollectorService. Every one is safe to repeat."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = CollectorServiceStub(connection.channel)

    def batch_put_items(
        self, items: Sequence[Item], *, timeout: float | None = None
    ) -> list[StoredItem | WinnowError]:
        """Stores up to 1,000 items. Items fail alone: a refused one's place holds its error."""
        request = collector_service_pb2.BatchPutItemsRequest(items=items)
        response = self._connection.unary(self._stub.BatchPutItems, request, timeout=timeout)
        return [_put_result(result) for result in response.results]

    def ingest_items(
        self,
        items: Iterable[Item],
        *,
        window: int = ingest.DEFAULT_WINDOW,
        idle_timeout: float = ingest.DEFAULT_IDLE_TIMEOUT,
    ) -> Iterator[tuple[Item, StoredItem | WinnowError]]:
        """Stores any number of items over one flow-controlled stream.

        Yields each item with what became of it, in order; `items` is read as the server takes them
        in, at most `window` ahead of the answers. A lost connection is made again and what was not
        answered is sent again. `idle_timeout`: seconds that an answer may take.
        """
        requests = (collector_service_pb2.IngestItemsRequest(item=item) for item in items)
        answers = ingest.ingest(
            self._connection,
            self._stub.IngestItems,
            requests,
            window=window,
            idle_timeout=idle_timeout,
        )
        for request, response in answers:
            yield request.item, _put_result(response.result)

    def get_item(self, id: str, *, timeout: float | None = None) -> Item:
        """Reads one item. Raises NotFound."""
        request = collector_service_pb2.GetItemRequest(id=id)
        return self._connection.unary(self._stub.GetItem, request, timeout=timeout).item

    def batch_get_items(
        self, ids: Sequence[str], *, timeout: float | None = None
    ) -> list[Item | WinnowError]:
        """Reads up to 1,000 items, in the order asked for."""
        request = collector_service_pb2.BatchGetItemsRequest(ids=ids)
        response = self._connection.unary(self._stub.BatchGetItems, request, timeout=timeout)
        return [
            from_status(result.error) if result.HasField("error") else result.item
            for result in response.results
        ]

    def list_items(
        self,
        *,
        namespace: str = "",
        channel: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ListItemsResponse:
        """One page of a namespace's items, newest arrival first."""
        request = collector_service_pb2.ListItemsRequest(
            namespace=namespace, channel=channel, page_size=page_size, page_token=page_token
        )
        return self._connection.unary(self._stub.ListItems, request, timeout=timeout)

    def items(
        self,
        *,
        namespace: str = "",
        channel: str = "",
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Item]:
        """All items of a namespace, newest arrival first. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[Item], str]:
            page = self.list_items(
                namespace=namespace,
                channel=channel,
                page_size=page_size,
                page_token=page_token,
                timeout=timeout,
            )
            return page.items, page.next_page_token

        return paging.iterate(fetch)

    def create_source(self, source: Source, *, timeout: float | None = None) -> Source:
        """Creates a source, which runs at once; the same again answers it. Raises AlreadyExists."""
        request = collector_service_pb2.CreateSourceRequest(source=source)
        return self._connection.unary(self._stub.CreateSource, request, timeout=timeout).source

    def get_source(self, id: str, *, timeout: float | None = None) -> Source:
        """Reads one source. Raises NotFound."""
        request = collector_service_pb2.GetSourceRequest(id=id)
        return self._connection.unary(self._stub.GetSource, request, timeout=timeout).source

    def update_source(
        self, source: Source, fields: Sequence[str], *, timeout: float | None = None
    ) -> Source:
        """Changes these fields; with an etag, if the source still has it. Raises Aborted."""
        request = collector_service_pb2.UpdateSourceRequest(
            source=source, update_mask=FieldMask(paths=fields)
        )
        return self._connection.unary(self._stub.UpdateSource, request, timeout=timeout).source

    def delete_source(self, id: str, *, timeout: float | None = None) -> bool:
        """Deletes a source; its items and runs stay. Whether there was one."""
        request = collector_service_pb2.DeleteSourceRequest(id=id)
        return self._connection.unary(self._stub.DeleteSource, request, timeout=timeout).deleted

    def pause_source(self, id: str, *, timeout: float | None = None) -> Source:
        """Lets a source run no more. Raises NotFound."""
        request = collector_service_pb2.PauseSourceRequest(id=id)
        return self._connection.unary(self._stub.PauseSource, request, timeout=timeout).source

    def resume_source(self, id: str, *, timeout: float | None = None) -> Source:
        """Lets a paused or blocked source run again, at once. Raises NotFound."""
        request = collector_service_pb2.ResumeSourceRequest(id=id)
        return self._connection.unary(self._stub.ResumeSource, request, timeout=timeout).source

    def run_source(self, id: str, *, request_id: str = "", timeout: float | None = None) -> str:
        """Asks for a run now and answers its id: runs() has it once it has ended."""
        request = collector_service_pb2.RunSourceRequest(
            id=id, request_id=request_id or str(uuid.uuid4())
        )
        return self._connection.unary(self._stub.RunSource, request, timeout=timeout).run_id

    def sources(
        self, *, namespace: str = "", page_size: int = 0, timeout: float | None = None
    ) -> Iterator[Source]:
        """All sources, by id. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[Source], str]:
            request = collector_service_pb2.ListSourcesRequest(
                namespace=namespace, page_size=page_size, page_token=page_token
            )
            page = self._connection.unary(self._stub.ListSources, request, timeout=timeout)
            return page.sources, page.next_page_token

        return paging.iterate(fetch)

    def runs(
        self, *, source_id: str = "", page_size: int = 0, timeout: float | None = None
    ) -> Iterator[Run]:
        """Runs that have ended, the last begun first. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[Run], str]:
            request = collector_service_pb2.ListRunsRequest(
                source_id=source_id, page_size=page_size, page_token=page_token
            )
            page = self._connection.unary(self._stub.ListRuns, request, timeout=timeout)
            return page.runs, page.next_page_token

        return paging.iterate(fetch)

    def watch_runs(
        self, *, source_id: str = "", resume_token: str = ""
    ) -> Iterator[WatchRunsResponse]:
        """Runs as they end, until the iterator is closed. Resumes by itself after a cut.

        The first response has no run: its token says where the watch begins. Keep the resume_token
        of the last response to go on later.
        """
        failures = 0
        while True:
            request = collector_service_pb2.WatchRunsRequest(
                source_id=source_id, resume_token=resume_token
            )
            call = self._stub.WatchRuns(request, metadata=self._connection.metadata())
            try:
                for response in call:
                    failures = 0
                    resume_token = response.resume_token
                    yield response
                return
            except grpc.RpcError as raised:
                error = from_rpc_error(raised)
                failures += 1
                delay = self._connection.retry.delay(error, failures)
                if delay is None:
                    raise error from raised
                self._connection.sleep(delay)
            finally:
                call.cancel()  # type: ignore[no-untyped-call]  # grpc-stubs leaves it untyped

    def quotas(self, *, credential: str = "", timeout: float | None = None) -> list[Quota]:
        """What the ledger knows of each credential's calls. Raises NotFound."""
        request = collector_service_pb2.GetQuotaRequest(credential=credential)
        return list(self._connection.unary(self._stub.GetQuota, request, timeout=timeout).quotas)

    def import_opml(
        self,
        opml: bytes,
        *,
        namespace: str = "",
        folders_as_categories: bool = False,
        timeout: float | None = None,
    ) -> collector_service_pb2.ImportOpmlResponse:
        """Creates a source for each feed of an OPML file that has none."""
        request = collector_service_pb2.ImportOpmlRequest(
            namespace=namespace, opml=opml, folders_as_categories=folders_as_categories
        )
        return self._connection.unary(self._stub.ImportOpml, request, timeout=timeout)
