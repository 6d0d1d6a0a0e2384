"""DedupService: is this document the first of its story?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from google.protobuf.field_mask_pb2 import FieldMask

from winnow import ingest, paging
from winnow.connection import Connection
from winnow.dedup.v1 import dedup_pb2, dedup_service_pb2
from winnow.dedup.v1.dedup_service_pb2_grpc import DedupServiceStub
from winnow.errors import WinnowError, from_status

Document = dedup_pb2.Document
Decision = dedup_pb2.Decision
Duplicate = dedup_pb2.Duplicate
Policy = dedup_pb2.Policy
Stage = dedup_pb2.Stage
Verdict = dedup_pb2.Verdict
CompareDocumentsResponse = dedup_service_pb2.CompareDocumentsResponse
GetCitationsResponse = dedup_service_pb2.GetCitationsResponse
ListDuplicatesResponse = dedup_service_pb2.ListDuplicatesResponse
PreviewPolicyResponse = dedup_service_pb2.PreviewPolicyResponse


class DedupClient:
    """Typed calls of winnow.dedup.v1.DedupService. Every one is safe to repeat."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = DedupServiceStub(connection.channel)

    def submit_document(self, document: Document, *, timeout: float | None = None) -> Decision:
        """Decides a document and remembers it.

        With the store away the answer is UNIQUE, `recorded` is False and `degradations` says so: go
        on, and submit the document again later.
        """
        request = dedup_service_pb2.SubmitDocumentRequest(document=document)
        response = self._connection.unary(self._stub.SubmitDocument, request, timeout=timeout)
        return response.decision

    def ingest_documents(
        self,
        documents: Iterable[Document],
        *,
        window: int = ingest.DEFAULT_WINDOW,
        idle_timeout: float = ingest.DEFAULT_IDLE_TIMEOUT,
    ) -> Iterator[tuple[Document, Decision | WinnowError]]:
        """Decides any number of documents over one flow-controlled stream.

        Yields each with its decision, in order; see CollectorClient.ingest_items for the rest.
        """
        requests = (dedup_service_pb2.IngestDocumentsRequest(document=each) for each in documents)
        answers = ingest.ingest(
            self._connection,
            self._stub.IngestDocuments,
            requests,
            window=window,
            idle_timeout=idle_timeout,
        )
        for request, response in answers:
            failed = response.HasField("error")
            yield request.document, from_status(response.error) if failed else response.decision

    def check_document(self, document: Document, *, timeout: float | None = None) -> Decision:
        """Decides a document as submit_document would now, and remembers nothing."""
        request = dedup_service_pb2.CheckDocumentRequest(document=document)
        response = self._connection.unary(self._stub.CheckDocument, request, timeout=timeout)
        return response.decision

    def compare_documents(
        self, earlier: Document, later: Document, *, timeout: float | None = None
    ) -> CompareDocumentsResponse:
        """Compares two documents: every score, every stage and why."""
        request = dedup_service_pb2.CompareDocumentsRequest(earlier=earlier, later=later)
        return self._connection.unary(self._stub.CompareDocuments, request, timeout=timeout)

    def get_decision(
        self, document_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Decision:
        """The decision on a document. Raises NotFound."""
        request = dedup_service_pb2.GetDecisionRequest(namespace=namespace, document_id=document_id)
        return self._connection.unary(self._stub.GetDecision, request, timeout=timeout).decision

    def list_duplicates(
        self,
        original_id: str,
        *,
        namespace: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ListDuplicatesResponse:
        """One page of an original's duplicates, earliest arrival first. Raises NotFound."""
        request = dedup_service_pb2.ListDuplicatesRequest(
            namespace=namespace,
            original_id=original_id,
            page_size=page_size,
            page_token=page_token,
        )
        return self._connection.unary(self._stub.ListDuplicates, request, timeout=timeout)

    def duplicates(
        self,
        original_id: str,
        *,
        namespace: str = "",
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Duplicate]:
        """All duplicates of an original, earliest arrival first. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[Duplicate], str]:
            page = self.list_duplicates(
                original_id,
                namespace=namespace,
                page_size=page_size,
                page_token=page_token,
                timeout=timeout,
            )
            return page.duplicates, page.next_page_token

        return paging.iterate(fetch)

    def get_citations(
        self, original_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> GetCitationsResponse:
        """Who repeated an original, counted by channel. Raises NotFound."""
        request = dedup_service_pb2.GetCitationsRequest(
            namespace=namespace, original_id=original_id
        )
        return self._connection.unary(self._stub.GetCitations, request, timeout=timeout)

    def get_policy(
        self, *, namespace: str = "", version: int = 0, timeout: float | None = None
    ) -> Policy:
        """The rules of a namespace: those in force, or an earlier version. Raises NotFound."""
        request = dedup_service_pb2.GetPolicyRequest(namespace=namespace, version=version)
        return self._connection.unary(self._stub.GetPolicy, request, timeout=timeout).policy

    def update_policy(
        self,
        policy: Policy,
        fields: Sequence[str],
        *,
        namespace: str = "",
        reason: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Policy:
        """Changes the named fields of a namespace's rules, and answers the rules then in force.

        With `policy.etag` set, the change is made only if nobody changed the rules meanwhile.
        """
        request = dedup_service_pb2.UpdatePolicyRequest(
            namespace=namespace,
            policy=policy,
            update_mask=FieldMask(paths=fields),
            reason=reason,
            request_id=request_id,
        )
        return self._connection.unary(self._stub.UpdatePolicy, request, timeout=timeout).policy

    def preview_policy(
        self,
        policy: Policy,
        fields: Sequence[str],
        *,
        namespace: str = "",
        max_documents: int = 0,
        max_changes: int = 0,
        timeout: float | None = None,
    ) -> PreviewPolicyResponse:
        """What the window's documents would be decided to be, and changes nothing."""
        request = dedup_service_pb2.PreviewPolicyRequest(
            namespace=namespace,
            policy=policy,
            update_mask=FieldMask(paths=fields),
            max_documents=max_documents,
            max_changes=max_changes,
        )
        return self._connection.unary(self._stub.PreviewPolicy, request, timeout=timeout)
