"""What people do about verdicts: overrides, appeals, policies, and who did what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from winnow import paging
from winnow.classification.v1 import classification_pb2, classification_service_pb2
from winnow.classification.v1.classification_service_pb2_grpc import ClassificationServiceStub
from winnow.connection import Connection

Appeal = classification_service_pb2.Appeal
AuditEntry = classification_service_pb2.AuditEntry
BulkOverrideClassificationsResponse = classification_service_pb2.BulkOverrideClassificationsResponse
Classification = classification_pb2.Classification
CommentPolicy = classification_pb2.Policy
CommentStatus = classification_pb2.CommentStatus
PreviewPolicyResponse = classification_service_pb2.PreviewPolicyResponse


class ClassificationPeople:
    """The calls of ClassificationClient that people are behind."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = ClassificationServiceStub(connection.channel)

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

    def bulk_override_classifications(
        self,
        video_id: str,
        comment_ids: Sequence[str],
        status: CommentStatus.ValueType,
        *,
        reason: str = "",
        actor: str = "",
        note: str = "",
        dry_run: bool = False,
        namespace: str = "",
        timeout: float | None = None,
    ) -> BulkOverrideClassificationsResponse:
        """Overrides up to 1,000 comments, all or none; its bulk_id undoes them together."""
        request = classification_service_pb2.BulkOverrideClassificationsRequest(
            namespace=namespace,
            video_id=video_id,
            comment_ids=comment_ids,
            status=status,
            reason=reason,
            actor=actor,
            note=note,
            dry_run=dry_run,
        )
        return self._connection.unary(
            self._stub.BulkOverrideClassifications, request, timeout=timeout, idempotent=dry_run
        )

    def override_conflicts(
        self, video_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Iterator[Classification]:
        """The overrides that the active run disagrees with, by comment id."""

        def fetch(page_token: str) -> tuple[Sequence[Classification], str]:
            request = classification_service_pb2.ListOverrideConflictsRequest(
                namespace=namespace, video_id=video_id, page_token=page_token
            )
            page = self._connection.unary(
                self._stub.ListOverrideConflicts, request, timeout=timeout
            )
            return page.conflicts, page.next_page_token

        return paging.iterate(fetch)

    def create_appeal(
        self,
        video_id: str,
        comment_id: str,
        note: str,
        request_id: str,
        *,
        actor: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> Appeal:
        """Asks people to look at a verdict again. Safe to repeat."""
        request = classification_service_pb2.CreateAppealRequest(
            namespace=namespace,
            video_id=video_id,
            comment_id=comment_id,
            note=note,
            request_id=request_id,
            actor=actor,
        )
        return self._connection.unary(self._stub.CreateAppeal, request, timeout=timeout).appeal

    def resolve_appeal(
        self,
        appeal_id: int,
        *,
        grant: bool,
        status: CommentStatus.ValueType = classification_pb2.COMMENT_STATUS_UNSPECIFIED,
        actor: str = "",
        note: str = "",
        timeout: float | None = None,
    ) -> Appeal:
        """Answers an appeal; granting it overrides the comment with `status`."""
        request = classification_service_pb2.ResolveAppealRequest(
            appeal_id=appeal_id, grant=grant, status=status, actor=actor, note=note
        )
        return self._connection.unary(
            self._stub.ResolveAppeal, request, timeout=timeout, idempotent=False
        ).appeal

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

    def preview_policy(
        self,
        video_id: str,
        policy: CommentPolicy,
        *,
        sample_size: int = 0,
        namespace: str = "",
        timeout: float | None = None,
    ) -> PreviewPolicyResponse:
        """How a policy would decide the newest comments of a video; changes nothing."""
        request = classification_service_pb2.PreviewPolicyRequest(
            namespace=namespace, video_id=video_id, policy=policy, sample_size=sample_size
        )
        return self._connection.unary(self._stub.PreviewPolicy, request, timeout=timeout)

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
