"""Real Envoy in front, with the configuration of docs/mesh."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from envoy_proxy import Envoy
from eventually import eventually
from winnow_process import ROOT, Server, new_server, world_folder

import winnow
from winnow.newsfeed.v1 import newsfeed_service_pb2

LIST = "/winnow.newsfeed.v1.NewsFeedService/ListArticles"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = world_folder("envoy")
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def envoy(server: Server, folder: Path) -> Iterator[Envoy]:
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
    with winnow.connect(envoy.address, timeout=60) as client:
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
        winnow.connect(envoy.address, timeout=60) as client,
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


def test_grpc_web_is_answered(envoy: Envoy, namespace: str) -> None:
    message = newsfeed_service_pb2.ListArticlesRequest(namespace=namespace).SerializeToString()
    frame = b"\0" + len(message).to_bytes(4, "big") + message
    status, answer, headers = envoy.post(
        LIST, base64.b64encode(frame), "application/grpc-web-text+proto"
    )
    assert status == 200
    assert headers["content-type"].startswith("application/grpc-web-text")
    # Each chunk is base64 of its own, padding included.
    decoded = b"".join(
        base64.b64decode(part + b"=" * (-len(part) % 4)) for part in answer.split(b"=") if part
    )
    length = int.from_bytes(decoded[1:5], "big")
    response = newsfeed_service_pb2.ListArticlesResponse.FromString(decoded[5 : 5 + length])
    assert len(response.articles) == 0
    assert b"grpc-status:0" in decoded[5 + length :].replace(b" ", b"")


def test_a_restart_behind_envoy_is_not_noticed(folder: Path) -> None:
    """Envoy tries UNAVAILABLE again while the server drains and comes back."""
    server = new_server("mesh-restart").start()
    port = server.address.rsplit(":", 1)[1]
    envoy = Envoy(folder, server.address)
    try:
        eventually(lambda: _serves(envoy), "Envoy routes to Winnow", unless=envoy.why_not)
        with winnow.connect(envoy.address, timeout=60) as client:
            client.newsfeed.list_articles()
            server.stop()
            with (
                pytest.raises(winnow.Unavailable),
                winnow.connect(
                    envoy.address, timeout=5, retry=winnow.RetryPolicy(attempts=1)
                ) as impatient,
            ):
                impatient.newsfeed.list_articles()
            server.arguments = ["--listen", f"127.0.0.1:{port}"]
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
        timeout=60,
        check=True,
    )
    assert "winnow.dedup.v1.DedupService" in done.stdout


def test_an_unknown_service_is_not_routed(envoy: Envoy) -> None:
    with grpc.insecure_channel(envoy.address) as channel:
        call = channel.unary_unary(
            "/winnow.unknown.v1.Service/Method",
            request_serializer=bytes,
            response_deserializer=bytes,
        )
        with pytest.raises(grpc.RpcError) as raised:
            call(b"", timeout=60)
        assert raised.value.code() == grpc.StatusCode.UNIMPLEMENTED
