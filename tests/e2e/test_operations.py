"""What an operator looks at: grpcurl, health, metrics, logs, TLS, tokens."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from eventually import eventually
from pipeline import article, await_feed, decision, item, put, put_in_turn
from winnow_process import (
    ENVIRONMENT,
    LIMIT_SECONDS,
    ROOT,
    Finished,
    Server,
    Serving,
    run_winnow,
)

import winnow

GRPCURL = Path(os.environ.get("WINNOW_GRPCURL", ROOT / ".tools" / "bin" / "grpcurl"))
SERVICES = {
    "winnow.collector.v1.CollectorService",
    "winnow.dedup.v1.DedupService",
    "winnow.newsfeed.v1.NewsFeedService",
    "winnow.classification.v1.ClassificationService",
    "winnow.polling.v1.PollingRegistryService",
    "winnow.events.v1.DeadLetterService",
}


def grpcurl(server: Serving, *arguments: str, flags: tuple[str, ...] = ("-plaintext",)) -> Finished:
    options = [each for each in arguments if each.startswith("-")]
    rest = list(arguments[len(options) * 2 :]) if options else list(arguments)
    values = list(arguments[: len(arguments) - len(rest)])
    done = subprocess.run(
        [str(GRPCURL), *flags, *values, server.address, *rest],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.one_process("reflection and health show what their process serves")
def test_grpcurl_lists_services_and_their_health(single: Server) -> None:
    listed = set(grpcurl(single, "list").out.split())
    assert listed >= SERVICES | {"grpc.health.v1.Health", "grpc.channelz.v1.Channelz"}
    assert "rpc Check" in grpcurl(single, "describe", "grpc.health.v1.Health").out
    request = '{"service": "winnow.dedup.v1.DedupService"}'
    assert grpcurl(single, "-d", request, "grpc.health.v1.Health/Check").json() == {
        "status": "SERVING"
    }


def test_grpcurl_describes_and_calls(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    methods = grpcurl(server, "list", "winnow.dedup.v1.DedupService").out
    assert "winnow.dedup.v1.DedupService.CompareDocuments" in methods
    described = grpcurl(server, "describe", "winnow.collector.v1.Item").out
    assert "string canonical_url = 6;" in described
    (stored,) = put(client, [item(namespace, 1)])
    await_feed(client, namespace, [stored.id])
    request = json.dumps({"namespace": namespace, "page_size": 1})
    called = grpcurl(server, "-d", request, "winnow.newsfeed.v1.NewsFeedService/ListArticles")
    assert called.code == 0, called.err
    assert called.json()["articles"][0]["id"] == stored.id


def test_grpcurl_shows_what_is_wrong(server: Serving) -> None:
    done = grpcurl(server, "-d", '{"id": "x"}', "winnow.collector.v1.CollectorService/GetItem")
    assert done.code != 0
    for expected in ("InvalidArgument", "INVALID_FIELD", "winnow", "BadRequest"):
        assert expected in done.err, done.err


def health(client: winnow.Winnow, service: str) -> str:
    """grpc.health.v1.Health/Check."""

    def raw(message: bytes) -> bytes:
        return message

    check = client.connection.channel.unary_unary(
        "/grpc.health.v1.Health/Check", request_serializer=raw, response_deserializer=raw
    )
    name = service.encode()
    answer = check(b"\x0a" + bytes([len(name)]) + name if name else b"", timeout=30)
    names = {b"\x08\x01": "SERVING", b"\x08\x02": "NOT_SERVING"}
    return names.get(answer) or f"{answer!r}"


@pytest.mark.one_process("health is each process's own: Envoy asks for it, and routes nobody to it")
def test_health_is_told_per_service(client: winnow.Winnow) -> None:
    assert {health(client, service) for service in ["", *SERVICES]} == {"SERVING"}
    with pytest.raises(grpc.RpcError) as raised:
        health(client, "winnow.nobody.v1.NobodyService")
    assert isinstance(raised.value, grpc.Call)
    assert raised.value.code() == grpc.StatusCode.NOT_FOUND


def test_metrics_count_calls_and_never_name_texts(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    title = "Secretive headline that no metric may carry"
    (stored,) = put(client, [item(namespace, 2, title=title)])
    article(client, stored)
    text = server.scrape()
    assert "# TYPE winnow_rpc_" in text
    assert "CollectorService/BatchPutItems" in text
    assert 'pool="' in text
    assert "winnow_outbox" in text or "winnow_events" in text
    for private in ("Secretive", namespace, stored.id):
        assert private not in text


def test_logs_are_json_with_request_ids_and_without_texts(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    title = "Confidential headline that no log line may carry"
    (stored,) = put(client, [item(namespace, 3, title=title)])
    article(client, stored)
    lines = server.log.splitlines()
    assert lines
    for line in lines:
        assert {"time", "level", "msg"} <= json.loads(line).keys(), line
    assert "Confidential" not in server.log


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", str(key), "-out", str(cert), "-days", "2"]
    command += ["-subj", "/CN=winnow-test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return cert, key


TOKEN = "a-token-of-this-test-alone"


@pytest.fixture
def guarded(
    make_server: Callable[..., Server], certificate: tuple[Path, Path], tmp_path: Path
) -> Iterator[Server]:
    """With TLS and a bearer token."""
    cert, key = certificate
    (tmp_path / "token").write_text(TOKEN + "\n")
    yield make_server(
        config={
            "tls": {"cert_file": str(cert), "key_file": str(key)},
            "auth": {"bearer_token_file": str(tmp_path / "token")},
        }
    ).start()


@pytest.mark.one_process("a certificate and a token of its own")
def test_tls_and_tokens_let_in_who_has_them(
    guarded: Server, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, _ = certificate
    tls = winnow.Tls(ca_file=cert)
    with guarded.connect(tls=tls, token=TOKEN) as client:
        # The ready line is true once it can be read.
        assert {health(client, service) for service in ["", *SERVICES]} == {"SERVING"}
        # The pipeline's own calls, in process, have a token of their own.
        (stored,) = put(client, [item("guarded", 1)])
        article(client, stored)
    for token in (None, "a-token-of-somebody-else"):
        with guarded.connect(tls=tls, token=token) as client:
            with pytest.raises(winnow.Unauthenticated) as raised:
                client.collector.get_item(stored.id)
            assert raised.value.reason == "UNAUTHENTICATED"
    plain = winnow.connect(guarded.address, token=TOKEN, retry=winnow.NO_RETRY)
    with plain as client, pytest.raises(winnow.Unavailable):
        client.collector.get_item(stored.id)
    # Health and reflection need no token.
    flags = ("-cacert", str(cert))
    assert set(grpcurl(guarded, "list", flags=flags).out.split()) >= SERVICES
    with guarded.connect(tls=tls) as client:
        assert health(client, "winnow.dedup.v1.DedupService") == "SERVING"

    token_file = str(tmp_path / "token")
    options = ["--ca-file", str(cert), "--namespace", "guarded"]
    listed = guarded.run("feed", "list", *options, "--token-file", token_file)
    assert (listed.code, stored.title in listed.out) == (0, True)
    refused = guarded.run("feed", "list", *options)
    assert refused.code == 1
    assert "token" in refused.err


def test_operators_verbs_read_what_is_there(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    title = "Repair café fixes its ten-thousandth toaster today"
    first = item(namespace, 10, title=title, channel="quay")
    again = item(namespace, 11, title=title, channel="ledger", hours=1)
    for each in (first, again):  # within the window of now
        each.ClearField("arrival_time")
    original, repeat = put_in_turn(client, [first, again])
    await_feed(client, namespace, [original.id])
    decision(client, repeat)
    scope = ("--namespace", namespace)

    listed = server.run("feed", "list", *scope)
    assert (listed.code, title in listed.out) == (0, True)
    assert server.run("feed", "list", *scope, "--json").json()["articles"][0]["id"] == original.id
    scrolled = server.run("feed", "scroll", *scope)
    assert scrolled.out.splitlines()[-1] == "1 articles"
    items = server.run("collect", "list", *scope, "--count", "1")
    assert repeat.id in items.out
    assert "--page-token" in items.out
    got = server.run("collect", "get", repeat.id)
    assert "canonical" in got.out
    assert server.run("collect", "get", repeat.id, "--json").json()["channel"] == "ledger"
    of_one = server.run("dedup", "duplicates", original.id, *scope)
    assert (of_one.code, "ledger" in of_one.out) == (0, True)
    newest = server.run("dedup", "duplicates", *scope)
    assert (newest.code, title in newest.out) == (0, True)
    compared = server.run("dedup", "compare", title, f"[단독] {title}", *scope)
    assert compared.out.startswith("duplicate:")
    check = ("dedup", "check", title, "--channel", "third", *scope)
    eventually(lambda: original.id in server.run(*check).out, "the story is known")
    missing = server.run("collect", "get", "019c1f2e-0000-7000-8000-000000000000")
    assert (missing.code, "does not exist" in missing.err) == (1, True)
    wrong = server.run("collect", "get", "nonsense")
    assert (wrong.code, "id:" in wrong.err) == (2, True)
    away = run_winnow("feed", "list", "--address", "127.0.0.1:1", "--timeout", "0.5")
    assert away.code == 3


def test_a_steered_terminal_is_not_to_be_had(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    (stored,) = put(client, [item(namespace, 12, title="before \x1b[2J after")])
    await_feed(client, namespace, [stored.id])
    shown = server.run("feed", "list", "--namespace", namespace)
    assert "\x1b" not in shown.out
    assert "after" in shown.out
