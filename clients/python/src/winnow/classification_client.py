"""ClassificationService: every comment gets exactly one verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from winnow import ingest, paging
from winnow.classification.v1 import classification_pb2, classification_service_pb2
from winnow.classification.v1.classification_service_pb2_grpc import ClassificationServiceStub
from winnow.connection import Connection
from winnow.errors import WinnowError, from_status

Appeal = classification_service_pb2.Appeal
AuditEntry = classification_service_pb2.AuditEntry
Classification = classification_pb2.Classification
ClassifyTextsResponse = classification_service_pb2.ClassifyTextsResponse
CommentStatus = classification_pb2.CommentStatus
CommentPolicy = classification_pb2.Policy
CompareRunsResponse = classification_service_pb2.CompareRunsResponse
ImportCommentsResponse = classification_service_pb2.ImportCommentsResponse
IngestVerdictsRequest = classification_service_pb2.IngestVerdictsRequest
IngestVerdictsResponse = classification_service_pb2.IngestVerdictsResponse
Run = classification_pb2.Run
StatusCounts = classification_pb2.StatusCounts
Verdict = classification_service_pb2.Verdict

PART_BYTES = 8 << 20


class ClassificationClient:
    """Typed calls of winnow.classification.v1.ClassificationService."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = ClassificationServiceStub(connection.channel)

    def import_comments(
        self,
        video_id: str,
        raw: bytes = b"",
        *,
        redis_key: str = "",
        upload_id: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> ImportCommentsResponse:
        """Imports raw comments of any known shape, or those under a Redis key. Safe to repeat.

        Over 8 MiB they are sent in parts, for which an `upload_id` must name the file.
        """
        request = classification_service_pb2.ImportCommentsRequest(
            namespace=namespace, video_id=video_id
        )
        if redis_key:
            request.redis_key = redis_key
            return self._connection.unary(self._stub.ImportComments, request, timeout=timeout)
        parts = max(1, -(-len(raw) // PART_BYTES))
        if parts > 1 and not upload_id:
            raise ValueError("raw is over 8 MiB: name it by upload_id")
        response = ImportCommentsResponse()
        for part in range(parts):
            request.raw = raw[part * PART_BYTES : (part + 1) * PART_BYTES]
            if parts > 1:
                request.upload_id = upload_id
                request.part = part
                request.has_more = part + 1 < parts
            response = self._connection.unary(self._stub.ImportComments, request, timeout=timeout)
        return response

    def start_run(
        self,
        video_id: str,
        *,
        namespace: str = "",
        classifier: str = "",
        policy: str = "",
        model: str = "",
        activate: bool = False,
        request_id: str = "",
        budget_micros: int = 0,
        resume_run_id: int = 0,
        timeout: float | None = None,
    ) -> Run:
        """Begins to classify a video. Repeated by itself only with a request_id."""
        request = classification_service_pb2.StartRunRequest(
            namespace=namespace,
            video_id=video_id,
            classifier=classifier,
            policy=policy,
            model=model,
            activate=activate,
            request_id=request_id,
            budget_micros=budget_micros,
            resume_run_id=resume_run_id,
        )
        return self._connection.unary(
            self._stub.StartRun, request, timeout=timeout, idempotent=bool(request_id)
        ).run

    def get_run(self, run_id: int, *, timeout: float | None = None) -> Run:
        """Reads a run."""
        request = classification_service_pb2.GetRunRequest(run_id=run_id)
        return self._connection.unary(self._stub.GetRun, request, timeout=timeout).run

    def cancel_run(self, run_id: int, *, timeout: float | None = None) -> Run:
        """Ends a run that is not complete. Safe to repeat."""
        request = classification_service_pb2.CancelRunRequest(run_id=run_id)
        return self._connection.unary(self._stub.CancelRun, request, timeout=timeout).run

    def activate_run(self, run_id: int, *, timeout: float | None = None) -> Run:
        """Makes a complete run the active one. Safe to repeat."""
        request = classification_service_pb2.ActivateRunRequest(run_id=run_id)
        return self._connection.unary(self._stub.ActivateRun, request, timeout=timeout).run

    def rollback_run(
        self, video_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Run:
        """Makes the run active that was so before. Never tried again by itself."""
        request = classification_service_pb2.RollbackRunRequest(
            namespace=namespace, video_id=video_id
        )
        return self._connection.unary(
            self._stub.RollbackRun, request, timeout=timeout, idempotent=False
        ).run

    def runs(
        self, video_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Iterator[Run]:
        """The runs of a video, newest first."""

        def fetch(page_token: str) -> tuple[Sequence[Run], str]:
            request = classification_service_pb2.ListRunsRequest(
                namespace=namespace, video_id=video_id, page_token=page_token
            )
            page = self._connection.unary(self._stub.ListRuns, request, timeout=timeout)
            return page.runs, page.next_page_token

        return paging.iterate(fetch)

    def compare_runs(
        self,
        run_id: int,
        base_run_id: int,
        *,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> CompareRunsResponse:
        """Confusion matrix (on the first page) and changed comments of two runs."""
        request = classification_service_pb2.CompareRunsRequest(
            run_id=run_id, base_run_id=base_run_id, page_size=page_size, page_token=page_token
        )
        return self._connection.unary(self._stub.CompareRuns, request, timeout=timeout)

    def ingest_verdicts(
        self,
        requests: Iterable[IngestVerdictsRequest],
        *,
        window: int = ingest.DEFAULT_WINDOW,
        idle_timeout: float = ingest.DEFAULT_IDLE_TIMEOUT,
    ) -> Iterator[tuple[IngestVerdictsRequest, IngestVerdictsResponse | WinnowError]]:
        """Delivers verdicts over one stream; an answer means durable. Resumes by itself."""
        answers = ingest.ingest(
            self._connection,
            self._stub.IngestVerdicts,
            requests,
            window=window,
            idle_timeout=idle_timeout,
        )
        for request, response in answers:
            failed = response.HasField("error")
            yield request, from_status(response.error) if failed else response

    def get_classification(
        self,
        video_id: str,
        comment_id: str,
        *,
        namespace: str = "",
        timeout: float | None = None,
    ) -> Classification:
        """The verdict of one comment. Raises NotFound."""
        request = classification_service_pb2.GetClassificationRequest(
            namespace=namespace, video_id=video_id, comment_id=comment_id
        )
        response = self._connection.unary(self._stub.GetClassification, request, timeout=timeout)
        return response.classification

    def batch_get_classifications(
        self,
        video_id: str,
        comment_ids: Sequence[str],
        *,
        namespace: str = "",
        timeout: float | None = None,
    ) -> list[Classification | WinnowError]:
        """Up to 1,000 verdicts, all of one run; an unknown comment's place holds its error."""
        request = classification_service_pb2.BatchGetClassificationsRequest(
            namespace=namespace, video_id=video_id, comment_ids=comment_ids
        )
        response = self._connection.unary(
            self._stub.BatchGetClassifications, request, timeout=timeout
        )
        return [
            from_status(result.error) if result.HasField("error") else result.classification
            for result in response.results
        ]

    def classifications(
        self,
        video_id: str,
        status: CommentStatus.ValueType,
        *,
        namespace: str = "",
        highest_score: bool = False,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Classification]:
        """The comments of a status, newest (or highest score) first, all of one run."""

        def fetch(page_token: str) -> tuple[Sequence[Classification], str]:
            request = classification_service_pb2.ListClassificationsRequest(
                namespace=namespace,
                video_id=video_id,
                status=status,
                order=classification_service_pb2.CLASSIFICATION_ORDER_HIGHEST_SCORE
                if highest_score
                else classification_service_pb2.CLASSIFICATION_ORDER_NEWEST,
                page_size=page_size,
                page_token=page_token,
            )
            page = self._connection.unary(self._stub.ListClassifications, request, timeout=timeout)
            return page.classifications, page.next_page_token

        return paging.iterate(fetch)

    def count_classifications(
        self, video_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> StatusCounts:
        """A video's comments by status, exactly."""
        request = classification_service_pb2.CountClassificationsRequest(
            namespace=namespace, video_id=video_id
        )
        response = self._connection.unary(self._stub.CountClassifications, request, timeout=timeout)
        return response.counts

    def override_classification(
        self,
        video_id: str,
        comment_id: str,
        status: CommentStatus.ValueType,
        *,
        reason: str = "",
        actor: str = "",
        note: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> Classification:
        """Sets what a person says a comment is, above all runs. Safe to repeat."""
        request = classification_service_pb2.OverrideClassificationRequest(
            namespace=namespace,
            video_id=video_id,
            comment_id=comment_id,
            status=status,
            reason=reason,
            actor=actor,
            note=note,
        )
        response = self._connection.unary(
            self._stub.OverrideClassification, request, timeout=timeout
        )
        return response.classification

    def undo_override(
        self,
        video_id: str,
        comment_id: str = "",
        *,
        bulk_id: int = 0,
        actor: str = "",
        note: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> int:
        """Takes back one override, or those of a bulk; answers how many. Safe to repeat."""
        request = classification_service_pb2.UndoOverrideRequest(
            namespace=namespace,
            video_id=video_id,
            comment_id=comment_id,
            bulk_id=bulk_id,
            actor=actor,
            note=note,
        )
        response = self._connection.unary(self._stub.UndoOverride, request, timeout=timeout)
        return response.undone_count

    def classify_texts(
        self,
        texts: Sequence[str],
        *,
        policy: str = "",
        explain: int = 0,
        namespace: str = "",
        timeout: float | None = None,
    ) -> ClassifyTextsResponse:
        """Classifies up to 1,000 texts and keeps nothing."""
        request = classification_service_pb2.ClassifyTextsRequest(
            namespace=namespace, texts=texts, policy=policy, explain=explain
        )
        return self._connection.unary(self._stub.ClassifyTexts, request, timeout=timeout)

    def get_policy(
        self,
        name: str = "",
        *,
        version: int = 0,
        namespace: str = "",
        timeout: float | None = None,
    ) -> CommentPolicy:
        """A version of a policy; 0 is the newest."""
        request = classification_service_pb2.GetPolicyRequest(
            namespace=namespace, name=name, version=version
        )
        return self._connection.unary(self._stub.GetPolicy, request, timeout=timeout).policy

    def update_policy(
        self,
        policy: CommentPolicy,
        *,
        actor: str = "",
        note: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> CommentPolicy:
        """Writes the next version. Raises Aborted when another was written meanwhile."""
        request = classification_service_pb2.UpdatePolicyRequest(
            namespace=namespace, policy=policy, actor=actor, note=note
        )
        return self._connection.unary(
            self._stub.UpdatePolicy, request, timeout=timeout, idempotent=False
        ).policy

    def audit_entries(
        self, video_id: str = "", *, namespace: str = "", timeout: float | None = None
    ) -> Iterator[AuditEntry]:
        """Who changed what, newest first."""

        def fetch(page_token: str) -> tuple[Sequence[AuditEntry], str]:
            request = classification_service_pb2.ListAuditEntriesRequest(
                namespace=namespace, video_id=video_id, page_token=page_token
            )
            page = self._connection.unary(self._stub.ListAuditEntries, request, timeout=timeout)
            return page.entries, page.next_page_token

        return paging.iterate(fetch)

    def delete_video(
        self, video_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> int:
        """Deletes all of a video; answers how many comments it had."""
        request = classification_service_pb2.DeleteVideoRequest(
            namespace=namespace, video_id=video_id
        )
        response = self._connection.unary(
            self._stub.DeleteVideo, request, timeout=timeout, idempotent=False
        )
        return response.comment_count
