"""ClassificationService: every comment gets exactly one verdict."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence

from winnow import ingest, paging
from winnow.classification.v1 import classification_pb2, classification_service_pb2
from winnow.classification_people import (
    ClassificationPeople,
)
from winnow.errors import WinnowError, from_status

ExportClassificationsResponse = classification_service_pb2.ExportClassificationsResponse
WatchClassificationsResponse = classification_service_pb2.WatchClassificationsResponse
Classification = classification_pb2.Classification
ClassifyTextsResponse = classification_service_pb2.ClassifyTextsResponse
CommentStatus = classification_pb2.CommentStatus
CompareRunsResponse = classification_service_pb2.CompareRunsResponse
ImportCommentsResponse = classification_service_pb2.ImportCommentsResponse
IngestedVerdicts = classification_service_pb2.IngestedVerdicts
IngestVerdictsRequest = classification_service_pb2.IngestVerdictsRequest
Run = classification_pb2.Run
StatusCounts = classification_pb2.StatusCounts
Verdict = classification_service_pb2.Verdict
VerdictList = classification_service_pb2.VerdictList

PART_BYTES = 8 << 20


class ClassificationClient(ClassificationPeople):
    """Typed calls of winnow.classification.v1.ClassificationService."""

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
        policy_name: str = "",
        policy_version: int = 0,
        model: str = "",
        activate: bool = False,
        request_id: str = "",
        budget_micros: int = 0,
        timeout: float | None = None,
    ) -> Run:
        """Begins to classify a video. Safe to repeat with the same request_id (default: a new
        one)."""
        request = classification_service_pb2.StartRunRequest(
            namespace=namespace,
            video_id=video_id,
            classifier=classifier,
            policy_name=policy_name,
            policy_version=policy_version,
            model=model,
            activate=activate,
            request_id=request_id or str(uuid.uuid4()),
            budget_micros=budget_micros,
        )
        return self._connection.unary(self._stub.StartRun, request, timeout=timeout).run

    def resume_run(
        self,
        run_id: str,
        *,
        budget_micros: int | None = None,
        namespace: str = "",
        timeout: float | None = None,
    ) -> Run:
        """Goes on with a paused run, with another budget where one is given. Safe to repeat."""
        request = classification_service_pb2.ResumeRunRequest(
            namespace=namespace, run_id=run_id, budget_micros=budget_micros
        )
        return self._connection.unary(self._stub.ResumeRun, request, timeout=timeout).run

    def get_run(self, run_id: str, *, namespace: str = "", timeout: float | None = None) -> Run:
        """Reads a run."""
        request = classification_service_pb2.GetRunRequest(namespace=namespace, run_id=run_id)
        return self._connection.unary(self._stub.GetRun, request, timeout=timeout).run

    def cancel_run(self, run_id: str, *, namespace: str = "", timeout: float | None = None) -> Run:
        """Ends a run that is not complete. Safe to repeat."""
        request = classification_service_pb2.CancelRunRequest(namespace=namespace, run_id=run_id)
        return self._connection.unary(self._stub.CancelRun, request, timeout=timeout).run

    def activate_run(
        self,
        run_id: str,
        *,
        actor: str = "",
        note: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> Run:
        """Makes a complete run the active one. Safe to repeat."""
        request = classification_service_pb2.ActivateRunRequest(
            namespace=namespace, run_id=run_id, actor=actor, note=note
        )
        return self._connection.unary(self._stub.ActivateRun, request, timeout=timeout).run

    def rollback_run(
        self,
        run_id: str,
        *,
        actor: str = "",
        note: str = "",
        request_id: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> Run:
        """Leaves the active run for the one before, which it answers. Safe to repeat with the same
        request_id (default: a new one)."""
        request = classification_service_pb2.RollbackRunRequest(
            namespace=namespace,
            run_id=run_id,
            actor=actor,
            note=note,
            request_id=request_id or str(uuid.uuid4()),
        )
        return self._connection.unary(self._stub.RollbackRun, request, timeout=timeout).run

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
        run_id: str,
        base_run_id: str,
        *,
        namespace: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> CompareRunsResponse:
        """Confusion matrix (on the first page) and changed comments of two runs."""
        request = classification_service_pb2.CompareRunsRequest(
            namespace=namespace,
            run_id=run_id,
            base_run_id=base_run_id,
            page_size=page_size,
            page_token=page_token,
        )
        return self._connection.unary(self._stub.CompareRuns, request, timeout=timeout)

    def ingest_verdicts(
        self,
        requests: Iterable[IngestVerdictsRequest],
        *,
        window: int = ingest.DEFAULT_WINDOW,
        idle_timeout: float = ingest.DEFAULT_IDLE_TIMEOUT,
    ) -> Iterator[tuple[IngestVerdictsRequest, IngestedVerdicts | WinnowError]]:
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
            yield request, from_status(response.error) if failed else response.ingested

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

    def classify_texts(
        self,
        texts: Sequence[str],
        *,
        policy_name: str = "",
        policy_version: int = 0,
        explain: int = 0,
        namespace: str = "",
        timeout: float | None = None,
    ) -> ClassifyTextsResponse:
        """Classifies up to 1,000 texts and keeps nothing."""
        request = classification_service_pb2.ClassifyTextsRequest(
            namespace=namespace,
            texts=texts,
            policy_name=policy_name,
            policy_version=policy_version,
            explain=explain,
        )
        return self._connection.unary(self._stub.ClassifyTexts, request, timeout=timeout)

    def watch_run(
        self, run_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Iterator[Run]:
        """A run at each change of it, the last when it ended or paused."""
        request = classification_service_pb2.WatchRunRequest(namespace=namespace, run_id=run_id)
        for response in self._connection.watch(self._stub.WatchRun, request, timeout=timeout):
            yield response.run

    def watch_classifications(
        self,
        video_id: str = "",
        *,
        resume_token: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> Iterator[WatchClassificationsResponse]:
        """What changes verdicts; the first answer carries only the token to go on from."""
        request = classification_service_pb2.WatchClassificationsRequest(
            namespace=namespace, video_id=video_id, resume_token=resume_token
        )
        return self._connection.watch(self._stub.WatchClassifications, request, timeout=timeout)

    def export_classifications(
        self, video_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Iterator[str]:
        """NDJSON lines of a video's verdicts, all of one run, to the last comment."""
        request = classification_service_pb2.ExportClassificationsRequest(
            namespace=namespace, video_id=video_id
        )
        done = False
        while not done:
            answers = self._connection.watch(
                self._stub.ExportClassifications, request, timeout=timeout
            )
            for response in answers:
                yield from response.ndjson.splitlines()
                request.resume_token = response.resume_token
                done = response.done

    def delete_video(
        self,
        video_id: str,
        *,
        actor: str = "",
        note: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> int:
        """Deletes all of a video; answers how many comments it had."""
        request = classification_service_pb2.DeleteVideoRequest(
            namespace=namespace, video_id=video_id, actor=actor, note=note
        )
        response = self._connection.unary(
            self._stub.DeleteVideo, request, timeout=timeout, idempotent=False
        )
        return response.comment_count
