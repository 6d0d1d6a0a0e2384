"""The port to language models over the wire: the built server against the scripted model, and that
model against the official OpenAI client, whose idea of the wire format both must share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pydantic
import pytest
from fake_llm import FakeLlm
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from winnow_process import Server

import winnow
from winnow.classification.v1 import classification_pb2 as pb

pytestmark = pytest.mark.one_process("models of its own, each with another fault")

KEY = "sk-test-0123456789abcdef"
COUNT = 120
NONCE = "fence-0123456789abcdef0123456789abcdef"


@pytest.fixture
def fake_llm() -> Iterator[Callable[..., FakeLlm]]:
    made: list[FakeLlm] = []

    def make(*arguments: str) -> FakeLlm:
        made.append(FakeLlm(*arguments))
        return made[-1]

    yield make
    for each in made:
        each.end()


def question(*texts: str) -> dict[str, Any]:
    """A request as the port writes it."""
    keys = [str(number + 1) for number in range(len(texts))]
    comments = json.dumps(dict(zip(keys, texts, strict=True)))
    return {
        "model": "fake",
        "messages": [
            {"role": "system", "content": "Label."},
            {"role": "user", "content": f"{NONCE}\n{comments}\n{NONCE}"},
        ],
        "max_completion_tokens": 100,
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "labels",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {key: {"$ref": "#/$defs/label"} for key in keys},
                    "required": keys,
                    "additionalProperties": False,
                    "$defs": {"label": {"type": "string", "enum": ["normal", "filtered_spam"]}},
                },
            },
        },
    }


def ask(model: FakeLlm, *texts: str, key: str = KEY) -> Any:
    client = openai.OpenAI(base_url=model.url, api_key=key, max_retries=0, timeout=20)
    return client.chat.completions.create(**question(*texts))


def test_the_official_client_understands_the_scripted_model(
    fake_llm: Callable[..., FakeLlm],
) -> None:
    answer = ask(fake_llm(f"key:{KEY}"), "hello", "buy #filter")
    assert json.loads(answer.choices[0].message.content) == {"1": "normal", "2": "filtered_spam"}
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert ask(fake_llm("length"), "hello").choices[0].finish_reason == "length"
    assert ask(fake_llm("content_filter"), "hello").choices[0].finish_reason == "content_filter"
    assert ask(fake_llm("refusal"), "hello").choices[0].message.refusal
    assert ask(fake_llm("no_usage"), "hello").usage is None


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        ("rate_limit", openai.RateLimitError, "rate_limit_exceeded"),
        ("quota", openai.RateLimitError, "insufficient_quota"),
        ("auth", openai.AuthenticationError, "invalid_api_key"),
        ("server_error", openai.InternalServerError, ""),
        ("unavailable", openai.InternalServerError, ""),
        ("context_length", openai.BadRequestError, "context_length_exceeded"),
    ],
)
def test_the_official_client_raises_what_the_fault_is(
    fake_llm: Callable[..., FakeLlm], fault: str, error: type[openai.APIStatusError], code: str
) -> None:
    with pytest.raises(error) as raised:
        ask(fake_llm(fault, "retry:7"), "hello")
    assert raised.value.code == code
    waits = fault in ("rate_limit", "unavailable")
    assert raised.value.response.headers.get("retry-after") == ("7" if waits else None)


def test_the_official_client_loses_the_connection_where_it_is_cut(
    fake_llm: Callable[..., FakeLlm],
) -> None:
    with pytest.raises(openai.APIConnectionError):
        ask(fake_llm("cut_off"), "hello")


def comments(count: int = COUNT) -> bytes:
    marks = ("", " #filter", " #suggest", " #toxic")
    return json.dumps(
        [
            {"id": f"c{n}", "videoId": "v", "parentId": None, "text": f"text {n}{marks[n % 4]}"}
            for n in range(count)
        ]
    ).encode()


def serve(make_server: Callable[..., Server], model: FakeLlm, **settings: object) -> Server:
    server = make_server(
        config={
            "classification": {
                "llm": {
                    "url": model.url,
                    "model": "fake",
                    "input_price_micros": 250000,
                    "output_price_micros": 2000000,
                    **settings,
                }
            }
        }
    )
    return server.start()


def run_llm(client: winnow.Winnow, video: str, **settings: Any) -> pb.Run:
    client.classification.import_comments(video, comments())
    run = client.classification.start_run(video, classifier="llm", activate=True, **settings)
    *_, last = client.classification.watch_run(run.id)
    return last


def test_a_run_by_a_language_model_is_right_and_costs_nothing_again(
    make_server: Callable[..., Server], fake_llm: Callable[..., FakeLlm]
) -> None:
    model = fake_llm("drop_keys:0.1", "length:0.1", "inverted:0.1", "refusal:0.1")
    server = serve(make_server, model)
    with server.connect() as client:
        first = run_llm(client, "v")
        assert first.state == pb.RUN_STATE_COMPLETE
        assert (first.classified_count, first.failed_count) == (COUNT, 0)
        assert first.call_count >= COUNT / 16
        assert first.cost_micros > 0
        assert first.model == "fake+prompt-1"
        expected = {0: "normal", 1: "filtered", 2: "content_suggestion", 3: "filtered"}
        for line in client.classification.export_classifications("v"):
            verdict = json.loads(line)
            if verdict["source"] == "model":
                number = int(verdict["comment_id"][1:])
                assert verdict["status"] == expected[number % 4], verdict
        again = run_llm(client, "v")
        assert (again.call_count, again.cost_micros) == (0, 0)
        elsewhere = run_llm(client, "w")
        assert elsewhere.call_count == 0, "the same texts under another video"
    shape = pydantic.TypeAdapter(CompletionCreateParamsNonStreaming)
    wire = shape.validate_python(model.last_body())
    assert [each["role"] for each in wire["messages"]] == ["system", "user"]
    assert model.end() == ""


def test_a_run_pauses_for_its_budget_and_goes_on_when_resumed(
    make_server: Callable[..., Server], fake_llm: Callable[..., FakeLlm]
) -> None:
    server = serve(make_server, fake_llm(), max_output_tokens=512)
    with server.connect() as client:
        paused = run_llm(client, "v", budget_micros=3000)
        assert paused.state == pb.RUN_STATE_PAUSED
        assert paused.pause_reason == pb.FAILURE_KIND_BUDGET
        assert 0 < paused.cost_micros <= 3000
        assert paused.failed_count == 0
        assert client.classification.count_classifications("v").normal == 0, "it is not active"
        calls = client.classification
        with pytest.raises(winnow.InvalidArgument):
            calls.resume_run(paused.id, budget_micros=paused.cost_micros)
        calls.resume_run(paused.id, budget_micros=0)
        *_, last = calls.watch_run(paused.id)
        assert (last.state, last.classified_count) == (pb.RUN_STATE_COMPLETE, COUNT)
        verdict = calls.get_classification("v", "c0")
        assert not verdict.HasField("score"), "a language model gives no probability"


def test_a_run_pauses_for_the_account_and_says_so(
    make_server: Callable[..., Server], fake_llm: Callable[..., FakeLlm]
) -> None:
    for fault, reason in (
        ("quota", pb.FAILURE_KIND_QUOTA),
        ("auth", pb.FAILURE_KIND_AUTH),
    ):
        server = serve(make_server, fake_llm(fault))
        with server.connect() as client:
            paused = run_llm(client, "v")
            assert (paused.state, paused.pause_reason) == (pb.RUN_STATE_PAUSED, reason)
            assert paused.classified_count == 0
            resumed = client.classification.resume_run(paused.id)
            assert resumed.state in (pb.RUN_STATE_PENDING, pb.RUN_STATE_RUNNING)


def test_a_missing_key_file_stops_the_start(make_server: Callable[..., Server]) -> None:
    server = make_server(
        config={
            "classification": {
                "llm": {"url": "http://127.0.0.1:1/v1", "model": "m", "key_file": "/nowhere"}
            }
        }
    )
    server.launch()
    assert server.wait() != 0
    assert "classification.llm.key_file" in server.log
