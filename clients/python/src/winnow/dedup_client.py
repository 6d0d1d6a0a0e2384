"""DedupService: is this document the first of its story?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from winnow import ingest, paging
from winnow.connection import Connection
from winnow.dedup.v1 import dedup_pb2, dedup_service_pb2
from winnow.dedup.v1.dedup_service_pb2_grpc import DedupServiceStub
from winnow.errors import WinnowError, from_status

Document = dedup_pb2.Document
Decision = dedup_pb2.Decision
Duplicate = dedup_pb2.Duplicate
Policy = dedup_pb2.Policy
ReviewItem = dedup_pb2.ReviewItem
Stage = dedup_pb2.Stage
Verdict = dedup_pb2.Verdict
CompareDocumentsResponse = dedup_service_pb2.CompareDocumentsResponse
CitedOriginal = dedup_pb2.CitedOriginal
GetCitationsResponse = dedup_service_pb2.GetCitationsResponse
GetStatsResponse = dedup_service_pb2.GetStatsResponse
WatchDecisionsResponse = dedup_service_pb2.WatchDecisionsResponse
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
        actor: str = "",
        note: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Policy:
        """Changes the named fields of a namespace's rules, and answers the rules then in force.

        With `policy.etag` set, the change is made only if the rules were not changed meanwhile.
        """
        request = dedup_service_pb2.UpdatePolicyRequest(
            namespace=namespace,
            policy=policy,
            update_mask=FieldMask(paths=fields),
            actor=actor,
            note=note,
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

    def decisions(
        self,
        *,
        namespace: str = "",
        verdict: Verdict.ValueType = Verdict.VERDICT_UNSPECIFIED,
        channel: str = "",
        from_time: Timestamp | None = None,
        until_time: Timestamp | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Decision]:
        """Decisions that pass the filters, newest arrival first. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[Decision], str]:
            request = dedup_service_pb2.ListDecisionsRequest(
                namespace=namespace,
                verdict=verdict,
                channel=channel,
                from_time=from_time,
                until_time=until_time,
                page_size=page_size,
                page_token=page_token,
            )
            page = self._connection.unary(self._stub.ListDecisions, request, timeout=timeout)
            return page.decisions, page.next_page_token

        return paging.iterate(fetch)

    def top_cited(
        self,
        *,
        namespace: str = "",
        from_time: Timestamp | None = None,
        until_time: Timestamp | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[CitedOriginal]:
        """What was repeated within a time range (24 h), most first. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[CitedOriginal], str]:
            request = dedup_service_pb2.ListTopCitedRequest(
                namespace=namespace,
                from_time=from_time,
                until_time=until_time,
                page_size=page_size,
                page_token=page_token,
            )
            page = self._connection.unary(self._stub.ListTopCited, request, timeout=timeout)
            return page.originals, page.next_page_token

        return paging.iterate(fetch)

    def override_decision(
        self,
        document_id: str,
        verdict: Verdict.ValueType,
        note: str,
        *,
        original_id: str = "",
        actor: str = "",
        namespace: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Decision:
        """Keeps what a person says about a decision; its own verdict confirms it."""
        request = dedup_service_pb2.OverrideDecisionRequest(
            namespace=namespace,
            document_id=document_id,
            verdict=verdict,
            original_id=original_id,
            note=note,
            actor=actor,
            request_id=request_id,
        )
        return self._connection.unary(
            self._stub.OverrideDecision, request, timeout=timeout
        ).decision

    def review_queue(
        self, *, namespace: str = "", page_size: int = 0, timeout: float | None = None
    ) -> Iterator[ReviewItem]:
        """Near-threshold decisions that were not reviewed, newest first; answer each by
        override_decision."""

        def fetch(page_token: str) -> tuple[Sequence[ReviewItem], str]:
            request = dedup_service_pb2.ListReviewQueueRequest(
                namespace=namespace, page_size=page_size, page_token=page_token
            )
            page = self._connection.unary(self._stub.ListReviewQueue, request, timeout=timeout)
            return page.items, page.next_page_token

        return paging.iterate(fetch)

    def get_stats(
        self,
        *,
        namespace: str = "",
        from_time: Timestamp | None = None,
        until_time: Timestamp | None = None,
        timeout: float | None = None,
    ) -> GetStatsResponse:
        """Counts of a time range (24 h) by hour, channel, stage and similarity."""
        request = dedup_service_pb2.GetStatsRequest(
            namespace=namespace, from_time=from_time, until_time=until_time
        )
        return self._connection.unary(self._stub.GetStats, request, timeout=timeout)

    def watch_decisions(
        self, *, namespace: str = "", resume_token: str = "", timeout: float | None = None
    ) -> Iterator[WatchDecisionsResponse]:
        """Decisions as they are made, without end; go on with the last message's resume_token.

        Raises Unavailable when the server stops, and ResourceExhausted when this reader is too
        slow.
        """
        request = dedup_service_pb2.WatchDecisionsRequest(
            namespace=namespace, resume_token=resume_token
        )
        return self._connection.watch(self._stub.WatchDecisions, request, timeout=timeout)
