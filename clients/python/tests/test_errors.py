from __future__ import annotations

import grpc
import pytest
from fake_server import Script, make_status, unavailable
from google.rpc import error_details_pb2

import winnow
from winnow.errors import from_status


def test_an_error_carries_reason_metadata_and_all_violations(
    client: winnow.Winnow, script: Script
) -> None:
    violations = [
        error_details_pb2.BadRequest.FieldViolation(field="items[0].url", description="is empty"),
        error_details_pb2.BadRequest.FieldViolation(field="items[3].title", description="is long"),
    ]
    script.failures = [
        make_status(
            grpc.StatusCode.INVALID_ARGUMENT,
            "2 fields are wrong",
            error_details_pb2.ErrorInfo(
                reason="INVALID_FIELD", domain="winnow", metadata={"resource": "item"}
            ),
            error_details_pb2.BadRequest(field_violations=violations),
        )
    ]
    with pytest.raises(winnow.InvalidArgument) as raised:
        client.collector.batch_put_items([winnow.Item()])
    error = raised.value
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    assert error.message == "2 fields are wrong"
    assert error.reason == "INVALID_FIELD"
    assert error.metadata == {"resource": "item"}
    assert error.violations == (
        winnow.Violation("items[0].url", "is empty"),
        winnow.Violation("items[3].title", "is long"),
    )
    assert "items[3].title: is long" in str(error)


def test_retry_info_becomes_seconds() -> None:
    error = from_status(unavailable(1.25))
    assert isinstance(error, winnow.Unavailable)
    assert error.retry_after == 1.25


@pytest.mark.parametrize(
    ("code", "error_class"),
    [
        (grpc.StatusCode.NOT_FOUND, winnow.NotFound),
        (grpc.StatusCode.ALREADY_EXISTS, winnow.AlreadyExists),
        (grpc.StatusCode.FAILED_PRECONDITION, winnow.FailedPrecondition),
        (grpc.StatusCode.ABORTED, winnow.Aborted),
        (grpc.StatusCode.DEADLINE_EXCEEDED, winnow.DeadlineExceeded),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, winnow.ResourceExhausted),
        (grpc.StatusCode.UNAUTHENTICATED, winnow.Unauthenticated),
        (grpc.StatusCode.PERMISSION_DENIED, winnow.PermissionDenied),
        (grpc.StatusCode.UNIMPLEMENTED, winnow.Unimplemented),
    ],
)
def test_each_code_has_its_class(
    client: winnow.Winnow,
    script: Script,
    code: grpc.StatusCode,
    error_class: type[winnow.WinnowError],
) -> None:
    script.failures = [make_status(code, "why")]
    with pytest.raises(error_class, match="why"):
        client.collector.get_item("an-id")


def test_a_defect_of_winnow_is_internal_with_a_reason(
    client: winnow.Winnow, script: Script
) -> None:
    info = error_details_pb2.ErrorInfo(reason="INTERNAL", domain="winnow")
    script.failures = [make_status(grpc.StatusCode.INTERNAL, "a defect", info)]
    with pytest.raises(winnow.Internal, match="a defect"):
        client.collector.get_item("an-id")


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN])
def test_a_stream_that_a_proxy_reset_is_tried_again(
    client: winnow.Winnow, script: Script, code: grpc.StatusCode
) -> None:
    script.failures = [make_status(code, "Received RST_STREAM with error code 2")] * 2
    assert client.collector.get_item("an-id")


def test_a_code_without_a_class_is_named() -> None:
    error = from_status(make_status(grpc.StatusCode.DATA_LOSS, "gone"))
    assert type(error) is winnow.WinnowError
    assert error.code is grpc.StatusCode.DATA_LOSS
    assert "DATA_LOSS: gone" in str(error)


def test_an_error_without_details_has_no_reason(client: winnow.Winnow, script: Script) -> None:
    script.failures = [make_status(grpc.StatusCode.NOT_FOUND, "no such item")]
    with pytest.raises(winnow.NotFound) as raised:
        client.collector.get_item("an-id")
    assert raised.value.reason == ""
    assert raised.value.violations == ()
    assert raised.value.retry_after is None


def test_nobody_listening_is_unavailable() -> None:
    # Port 1 needs root to listen on, and nothing of ours does.
    client = winnow.connect("127.0.0.1:1", retry=winnow.NO_RETRY)
    with client, pytest.raises(winnow.Unavailable):
        client.collector.get_item("an-id")
