"""What people do about verdicts: overrides, appeals, policies, and who did what."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

from google.protobuf.field_mask_pb2 import FieldMask

from winnow import paging
from winnow.classification.v1 import classification_pb2, classification_service_pb2
from winnow.classification.v1.classification_service_pb2_grpc import ClassificationServiceStub
from winnow.connection import Connection

Appeal = classification_pb2.Appeal
AppealState = classification_pb2.AppealState
AuditEntry = classification_pb2.AuditEntry
BulkOverrideClassificationsResponse = classification_service_pb2.BulkOverrideClassificationsResponse
Classification = classification_pb2.Classification
CommentPolicy = classification_pb2.Policy
CommentStatus = classification_pb2.CommentStatus
PreviewPolicyResponse = classification_service_pb2.PreviewPolicyResponse
UndoOverrideResponse = classification_service_pb2.UndoOverrideResponse


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
        request_id: str = "",
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
            request_id=request_id,
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
        request_id: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> BulkOverrideClassificationsResponse:
        """Overrides up to 1,000 comments, all or none; its bulk_id undoes them together. Safe to
        repeat with the same request_id (default: a new one)."""
        request = classification_service_pb2.BulkOverrideClassificationsRequest(
            namespace=namespace,
            video_id=video_id,
            comment_ids=comment_ids,
            status=status,
            reason=reason,
            actor=actor,
            note=note,
            dry_run=dry_run,
            request_id=request_id or str(uuid.uuid4()),
        )
        return self._connection.unary(
            self._stub.BulkOverrideClassifications, request, timeout=timeout
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

    def get_appeal(
        self, appeal_id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Appeal:
        """Reads an appeal."""
        request = classification_service_pb2.GetAppealRequest(
            namespace=namespace, appeal_id=appeal_id
        )
        return self._connection.unary(self._stub.GetAppeal, request, timeout=timeout).appeal

    def appeals(
        self,
        video_id: str = "",
        *,
        state: AppealState.ValueType = classification_pb2.APPEAL_STATE_UNSPECIFIED,
        namespace: str = "",
        timeout: float | None = None,
    ) -> Iterator[Appeal]:
        """Appeals, newest first: of a namespace or a video, all or those in a state."""

        def fetch(page_token: str) -> tuple[Sequence[Appeal], str]:
            request = classification_service_pb2.ListAppealsRequest(
                namespace=namespace, video_id=video_id, state=state, page_token=page_token
            )
            page = self._connection.unary(self._stub.ListAppeals, request, timeout=timeout)
            return page.appeals, page.next_page_token

        return paging.iterate(fetch)

    def resolve_appeal(
        self,
        appeal_id: str,
        state: AppealState.ValueType,
        *,
        status: CommentStatus.ValueType = classification_pb2.COMMENT_STATUS_UNSPECIFIED,
        actor: str = "",
        note: str = "",
        request_id: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> Appeal:
        """Grants or rejects an appeal; granting it overrides the comment with `status`. Safe to
        repeat with the same request_id (default: a new one)."""
        request = classification_service_pb2.ResolveAppealRequest(
            namespace=namespace,
            appeal_id=appeal_id,
            state=state,
            status=status,
            actor=actor,
            note=note,
            request_id=request_id or str(uuid.uuid4()),
        )
        return self._connection.unary(self._stub.ResolveAppeal, request, timeout=timeout).appeal

    def undo_override(
        self,
        video_id: str,
        comment_id: str = "",
        *,
        bulk_id: str = "",
        actor: str = "",
        note: str = "",
        request_id: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> UndoOverrideResponse:
        """Takes back one comment's override, or those of a bulk. Safe to repeat."""
        if comment_id and bulk_id:
            raise ValueError("comment_id or bulk_id, not both")
        request = classification_service_pb2.UndoOverrideRequest(
            namespace=namespace,
            video_id=video_id,
            actor=actor,
            note=note,
            request_id=request_id,
        )
        if comment_id:
            request.comment_id = comment_id
        elif bulk_id:
            request.bulk_id = bulk_id
        return self._connection.unary(self._stub.UndoOverride, request, timeout=timeout)

    def get_policy(
        self,
        policy_name: str = "",
        *,
        policy_version: int = 0,
        namespace: str = "",
        timeout: float | None = None,
    ) -> CommentPolicy:
        """A version of a policy; 0 is the newest."""
        request = classification_service_pb2.GetPolicyRequest(
            namespace=namespace, policy_name=policy_name, policy_version=policy_version
        )
        return self._connection.unary(self._stub.GetPolicy, request, timeout=timeout).policy

    def update_policy(
        self,
        policy: CommentPolicy,
        update_mask: Sequence[str],
        *,
        allow_missing: bool = False,
        actor: str = "",
        note: str = "",
        request_id: str = "",
        namespace: str = "",
        timeout: float | None = None,
    ) -> CommentPolicy:
        """Changes the fields of the mask of policy.name. With policy.etag it raises Aborted when
        another version was made meanwhile. Safe to repeat with the same request_id (default: a new
        one)."""
        request = classification_service_pb2.UpdatePolicyRequest(
            namespace=namespace,
            policy=policy,
            update_mask=FieldMask(paths=update_mask),
            allow_missing=allow_missing,
            actor=actor,
            note=note,
            request_id=request_id or str(uuid.uuid4()),
        )
        return self._connection.unary(self._stub.UpdatePolicy, request, timeout=timeout).policy

    def preview_policy(
        self,
        video_id: str,
        policy: CommentPolicy,
        update_mask: Sequence[str],
        *,
        sample_size: int = 0,
        namespace: str = "",
        timeout: float | None = None,
    ) -> PreviewPolicyResponse:
        """How a policy would decide the newest comments of a video; changes nothing."""
        request = classification_service_pb2.PreviewPolicyRequest(
            namespace=namespace,
            video_id=video_id,
            policy=policy,
            update_mask=FieldMask(paths=update_mask),
            sample_size=sample_size,
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
