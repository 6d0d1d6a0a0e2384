"""CollectorService: raw items in, and reading them back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from winnow import ingest, paging
from winnow.collector.v1 import collector_pb2, collector_service_pb2
from winnow.collector.v1.collector_service_pb2_grpc import CollectorServiceStub
from winnow.connection import Connection
from winnow.errors import WinnowError, from_status

Item = collector_pb2.Item
StoredItem = collector_pb2.StoredItem
ListItemsResponse = collector_service_pb2.ListItemsResponse

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
