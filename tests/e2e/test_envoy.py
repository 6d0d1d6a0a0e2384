"""Real Envoy in front, with the configuration of docs/mesh."""

from __future__ import annotations

import base64
import contextlib
import json
import queue
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import yaml
from envoy_proxy import Envoy
from eventually import eventually
from google.protobuf import json_format
from google.protobuf.message import Message
from http2_frames import Connection, call_headers
from split_world import Split
from winnow_process import LIMIT_SECONDS, ROOT, Serving, new_server, world_folder

import winnow
from winnow.classification.v1 import classification_service_pb2
from winnow.collector.v1 import collector_service_pb2, collector_service_pb2_grpc
from winnow.dedup.v1 import dedup_service_pb2
from winnow.events.v1 import dead_letter_service_pb2
from winnow.newsfeed.v1 import newsfeed_service_pb2
from winnow.polling.v1 import polling_service_pb2

LIST = "/winnow.newsfeed.v1.NewsFeedService/ListArticles"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = world_folder("envoy")
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def envoy(server: Serving, folder: Path) -> Iterator[Envoy]:
    """In front of the one server; the split has its own."""
    if isinstance(server, Split):
        assert server.envoy is not None
        yield server.envoy
        return
    running = Envoy(folder, server.address)
    try:
        eventually(lambda: _serves(running), "Envoy routes to Winnow", unless=running.why_not)
        yield running
    finally:
        running.close()


def _serves(envoy: Envoy) -> bool:
    """Whether every cluster of Envoy has a healthy endpoint."""
    try:
        with winnow.connect(envoy.address, timeout=5, retry=winnow.RetryPolicy(attempts=1)) as each:
            each.newsfeed.list_articles()
            next(each.collector.items(), None)
            each.dedup.check_document(winnow.Document(channel="c", title="Is anybody there"))
        return True
    except winnow.WinnowError:
        return False


def test_the_client_works_through_envoy_for_every_service(envoy: Envoy, namespace: str) -> None:
    with winnow.connect(envoy.address, timeout=LIMIT_SECONDS) as client:
        item = winnow.Item(
            namespace=namespace,
            channel="mesh",
            url="https://mesh.example/1",
            title="A headline that travels through the mesh",
        )
        (stored,) = client.collector.batch_put_items([item])
        assert not isinstance(stored, winnow.WinnowError)
        eventually(
            lambda: [a.id for a in client.newsfeed.articles(namespace=namespace)],
            "the article is in the feed",
        )
        assert list(client.events.dead_letters(queue="nobody's")) == []
        decision = client.dedup.get_decision(stored.id, namespace=namespace)
        assert decision.document_id == stored.id
        streamed = [
            winnow.Item(
                namespace=namespace,
                channel="mesh",
                url=f"https://mesh.example/s{n}",
                title=f"Streamed headline number {n * 7919}",
            )
            for n in range(300)
        ]
        answered = list(client.collector.ingest_items(streamed))
        assert len(answered) == 300


def test_an_error_keeps_its_details(envoy: Envoy) -> None:
    with (
        winnow.connect(envoy.address, timeout=LIMIT_SECONDS) as client,
        pytest.raises(winnow.InvalidArgument) as raised,
    ):
        client.newsfeed.list_articles(page_size=-1)
    assert [violation.field for violation in raised.value.violations] == ["page_size"]


def test_json_is_transcoded(envoy: Envoy, client: winnow.Winnow, namespace: str) -> None:
    client.newsfeed.create_category(
        winnow.Category(namespace=namespace, id="tech", display_name="기술")
    )
    body = json.dumps({"namespace": namespace}).encode()
    status, answer, _ = envoy.post(
        "/winnow.newsfeed.v1.NewsFeedService/ListCategories", body, "application/json"
    )
    assert status == 200, answer
    names = {each["id"]: each["displayName"] for each in json.loads(answer)["categories"]}
    assert names["tech"] == "기술"


def test_a_json_error_is_an_http_error_with_the_reason(envoy: Envoy) -> None:
    status, answer, _ = envoy.post(LIST, b'{"pageSize": -1}', "application/json")
    assert status == 400
    assert b"page_size" in answer


def decoded_web_text(answer: bytes) -> tuple[bytes, bytes]:
    """The message and the trailers of a gRPC-Web answer in base64, each chunk with its padding."""
    decoded = b"".join(
        base64.b64decode(part + b"=" * (-len(part) % 4)) for part in answer.split(b"=") if part
    )
    length = int.from_bytes(decoded[1:5], "big")
    return decoded[5 : 5 + length], decoded[5 + length :].replace(b" ", b"")


# A read of each service, with the answer's type.
READS: dict[str, tuple[Message, Message]] = {
    "winnow.collector.v1.CollectorService/ListItems": (
        collector_service_pb2.ListItemsRequest(page_size=1),
        collector_service_pb2.ListItemsResponse(),
    ),
    "winnow.dedup.v1.DedupService/CheckDocument": (
        dedup_service_pb2.CheckDocumentRequest(
            document=winnow.Document(channel="c", title="제목 하나")
        ),
        dedup_service_pb2.CheckDocumentResponse(),
    ),
    "winnow.newsfeed.v1.NewsFeedService/ListArticles": (
        newsfeed_service_pb2.ListArticlesRequest(page_size=1),
        newsfeed_service_pb2.ListArticlesResponse(),
    ),
    "winnow.classification.v1.ClassificationService/ClassifyTexts": (
        classification_service_pb2.ClassifyTextsRequest(texts=["오늘도 잘 봤습니다"]),
        classification_service_pb2.ClassifyTextsResponse(),
    ),
    "winnow.polling.v1.PollingRegistryService/GetStats": (
        polling_service_pb2.GetStatsRequest(kind="stt"),
        polling_service_pb2.GetStatsResponse(),
    ),
    "winnow.events.v1.DeadLetterService/ListDeadLetters": (
        dead_letter_service_pb2.ListDeadLettersRequest(page_size=1),
        dead_letter_service_pb2.ListDeadLettersResponse(),
    ),
}


@pytest.mark.parametrize("method", READS)
def test_every_service_is_transcoded(envoy: Envoy, method: str) -> None:
    request, response = READS[method]
    body = json_format.MessageToJson(request).encode()
    status, answer, _ = envoy.post(f"/{method}", body, "application/json")
    assert status == 200, answer
    json_format.Parse(answer, response)


@pytest.mark.parametrize("method", READS)
def test_every_service_is_answered_in_grpc_web(envoy: Envoy, method: str) -> None:
    request, response = READS[method]
    message = request.SerializeToString()
    frame = b"\0" + len(message).to_bytes(4, "big") + message
    status, answer, headers = envoy.post(
        f"/{method}", base64.b64encode(frame), "application/grpc-web-text+proto"
    )
    assert status == 200
    assert headers["content-type"].startswith("application/grpc-web-text")
    body, trailers = decoded_web_text(answer)
    response.ParseFromString(body)
    assert b"grpc-status:0" in trailers


class Outbox:
    """Requests of a stream, which stays open until it is closed."""

    def __init__(self) -> None:
        self._queue: queue.Queue[collector_service_pb2.IngestItemsRequest | None] = queue.Queue()

    def put(self, request: collector_service_pb2.IngestItemsRequest | None) -> None:
        """None ends the stream."""
        self._queue.put(request)

    def __iter__(self) -> Iterator[collector_service_pb2.IngestItemsRequest]:
        while (request := self._queue.get(timeout=LIMIT_SECONDS)) is not None:
            yield request


def ingest_request(namespace: str, number: int) -> collector_service_pb2.IngestItemsRequest:
    url = f"https://mesh.example/poison/{number}"
    item = winnow.Item(namespace=namespace, channel="mesh", url=url, title=f"Poison {number}")
    return collector_service_pb2.IngestItemsRequest(item=item)


def test_one_callers_malformed_header_ends_no_other_callers_stream(
    envoy: Envoy, namespace: str
) -> None:
    """CVE-2023-32732 and CVE-2024-7246: gRPC 1.51 ends the connection that the header comes over,
    or mistakes the headers after it; Envoy forwards it."""
    requests = Outbox()
    with grpc.insecure_channel(envoy.address) as channel:
        stub = collector_service_pb2_grpc.CollectorServiceStub(channel)
        answers = iter(stub.IngestItems(iter(requests), timeout=LIMIT_SECONDS))
        requests.put(ingest_request(namespace, 1))
        assert next(answers).result.HasField("stored")  # the stream is up, end to end
        malformed = [("x-malformed-bin", "not base64: !!!"), ("x-request-id", "hostile")]
        method = "/winnow.collector.v1.CollectorService/ListItems"
        for _ in range(3):
            with Connection(envoy.address) as hostile:
                hostile.acknowledge()
                hostile.call(1, call_headers(method, malformed))
                with contextlib.suppress(ConnectionError):
                    hostile.end_of(1)
        requests.put(ingest_request(namespace, 2))
        assert next(answers).result.HasField("stored")
        requests.put(None)
        assert list(answers) == []


@pytest.mark.one_process("restarts it; the split rolls all of its own")
def test_a_restart_behind_envoy_is_not_noticed(folder: Path) -> None:
    """Envoy tries UNAVAILABLE again while the server drains and comes back."""
    server = new_server("mesh-restart").start()
    envoy = Envoy(folder, server.address)
    try:
        eventually(lambda: _serves(envoy), "Envoy routes to Winnow", unless=envoy.why_not)
        with winnow.connect(envoy.address, timeout=LIMIT_SECONDS) as client:
            client.newsfeed.list_articles()
            server.stop()
            with (
                pytest.raises(winnow.Unavailable),
                winnow.connect(
                    envoy.address, timeout=5, retry=winnow.RetryPolicy(attempts=1)
                ) as impatient,
            ):
                impatient.newsfeed.list_articles()
            server.start()
            eventually(lambda: _serves(envoy), "Envoy finds it again", unless=envoy.why_not)
            client.newsfeed.list_articles()
    finally:
        envoy.close()
        server.close()


def test_reflection_answers_through_envoy(envoy: Envoy) -> None:
    grpcurl = ROOT / ".tools" / "bin" / "grpcurl"
    done = subprocess.run(
        [str(grpcurl), "-plaintext", envoy.address, "list"],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=True,
    )
    assert "winnow.newsfeed.v1.NewsFeedService" in done.stdout


@pytest.mark.one_process("reads files")
def test_what_clients_call_once_is_not_tried_again_by_the_mesh() -> None:
    sources = (ROOT / "clients" / "java" / "client" / "src" / "main").rglob("*Client.java")
    once = r"callOnce\(\s*\w+Grpc\.get(\w+)Method"
    called_once = {name for each in sources for name in re.findall(once, each.read_text())}
    python = (ROOT / "clients" / "python" / "src" / "winnow").glob("*_client.py")
    once = r"unary\(\s*self\._stub\.(\w+),[^()]*idempotent=False"
    assert {name for each in python for name in re.findall(once, each.read_text())} == called_once
    config = yaml.safe_load((ROOT / "docs" / "mesh" / "envoy.yaml").read_text())
    listener = config["static_resources"]["listeners"][0]
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    (host,) = manager["route_config"]["virtual_hosts"]
    policies = {
        route["match"]["path"].rsplit("/", 1)[1]: route["route"]["retry_policy"]["retry_on"]
        for route in host["routes"]
        if "retry_policy" in route["route"]
    }
    # Clients of ours name their requests; without that a second kick brings back more.
    assert policies.keys() == called_once | {"KickJobs"}
    assert called_once
    assert set(policies.values()) == {"connect-failure,refused-stream"}


def test_an_unknown_service_is_not_routed(envoy: Envoy) -> None:
    with grpc.insecure_channel(envoy.address) as channel:
        call = channel.unary_unary(
            "/winnow.unknown.v1.Service/Method",
            request_serializer=bytes,
            response_deserializer=bytes,
        )
        with pytest.raises(grpc.RpcError) as raised:
            call(b"", timeout=LIMIT_SECONDS)
        assert raised.value.code() == grpc.StatusCode.UNIMPLEMENTED
