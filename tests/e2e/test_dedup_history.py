"""What was decided, as it is looked at later: lists, watches, people, rules, through the binary."""

from __future__ import annotations

import json

import pytest
from winnow_process import Serving

import winnow
from winnow.dedup.v1 import dedup_pb2 as pb

TITLES = (
    "바닷가 작은 도서관이 십 년 만에 문을 닫는다",
    "시는 다음 달부터 지하철 막차를 삼십 분 늦춘다",
    "산불로 끊긴 고속도로가 닷새 만에 다시 열렸다",
)
UNIQUE = pb.VERDICT_UNIQUE
DUPLICATE = pb.VERDICT_DUPLICATE


def submit(client: winnow.Winnow, namespace: str, document: str, title: str) -> pb.Decision:
    channel = document.rsplit("-", 1)[1]
    return client.dedup.submit_document(
        pb.Document(namespace=namespace, id=document, channel=channel, title=title)
    )


def submit_world(client: winnow.Winnow, namespace: str) -> None:
    """Story 0 is repeated once, story 1 twice, story 2 three times: each by other channels."""
    for story, title in enumerate(TITLES):
        for channel in range(story + 2):
            decision = submit(client, namespace, f"{story}-{channel}", title)
            assert decision.verdict == (UNIQUE if channel == 0 else DUPLICATE)
            assert decision.recorded


def test_what_was_repeated_is_listed_counted_and_watched(
    client: winnow.Winnow, namespace: str
) -> None:
    watch = client.dedup.watch_decisions(namespace=namespace, timeout=60)
    first = next(watch)
    assert not first.HasField("gap")
    submit_world(client, namespace)
    seen: list[str] = []
    while len(seen) < 9:
        seen += [each.document_id for each in next(watch).decisions]
    assert seen == ["0-0", "0-1", "1-0", "1-1", "1-2", "2-0", "2-1", "2-2", "2-3"]
    resumed = client.dedup.watch_decisions(
        namespace=namespace, resume_token=first.resume_token, timeout=60
    )
    assert next(resumed).decisions[0].document_id == "0-0"

    top = list(client.dedup.top_cited(namespace=namespace, page_size=1))
    assert [each.original_id for each in top] == ["2-0", "1-0", "0-0"]
    assert [(each.duplicate_count, each.channel_count) for each in top] == [(3, 4), (2, 3), (1, 2)]
    repeats = client.dedup.decisions(namespace=namespace, verdict=DUPLICATE, page_size=2)
    assert sum(1 for _ in repeats) == 6
    stats = client.dedup.get_stats(namespace=namespace)
    assert (stats.document_count, stats.duplicate_count) == (9, 6)
    assert stats.similarities[19].similarity_from == 0.95
    assert stats.server.HasField("mean_decide_time")


def test_people_say_what_is_wrong_once(client: winnow.Winnow, namespace: str) -> None:
    submit_world(client, namespace)

    def correct(document: str, note: str) -> pb.Decision:
        return client.dedup.override_decision(
            document, UNIQUE, note, actor="mina", namespace=namespace, request_id="once"
        )

    said = correct("1-1", "another event")
    assert said.verdict == DUPLICATE, "what was decided stays"
    assert (said.override.verdict, said.override.actor) == (UNIQUE, "mina")
    assert correct("1-1", "another event").override.revision == 1, "sent again"
    for document, note in (("1-2", "another event"), ("1-1", "on second thoughts")):
        with pytest.raises(winnow.InvalidArgument) as refused:
            correct(document, note)
        assert [each.field for each in refused.value.violations] == ["request_id"]
    untouched = client.dedup.get_decision("1-2", namespace=namespace)
    assert not untouched.HasField("override")


def test_rules_are_tried_out_then_changed_by_etag(client: winnow.Winnow, namespace: str) -> None:
    policy = client.dedup.get_policy(namespace=namespace)
    assert policy.namespace == namespace
    policy.token_threshold = 0.6
    changed = client.dedup.update_policy(
        policy,
        ["token_threshold"],
        namespace=namespace,
        actor="mina",
        note="too few",
        request_id="once",
    )
    assert (changed.version, changed.actor, changed.note) == (2, "mina", "too few")
    with pytest.raises(winnow.Aborted):
        client.dedup.update_policy(policy, ["token_threshold"], namespace=namespace)
    again = client.dedup.update_policy(
        policy,
        ["token_threshold"],
        namespace=namespace,
        actor="mina",
        note="too few",
        request_id="once",
    )
    assert again.version == 2, "sent again, although the etag is stale by now"


def test_two_sentences_are_compared_by_characters_too(client: winnow.Winnow) -> None:
    reported = client.dedup.compare_documents(
        pb.Document(channel="one", title="오늘 날씨 어때"),
        pb.Document(channel="two", title="오늘 날씨는 어때"),
    )
    assert reported.verdict == UNIQUE, "too short for tokens of three characters"
    assert reported.scores.title_jaccard < 0.5 < reported.scores.character_jaccard < 1


def test_the_command_line_shows_decisions(
    server: Serving, client: winnow.Winnow, namespace: str
) -> None:
    submit_world(client, namespace)
    where = ("--namespace", namespace)
    top = server.run("dedup", "top", "--count", "2", *where)
    assert [line.split(" of ")[0][-3:] for line in top.out.splitlines()] == ["2-0", "1-0"]
    assert top.out.startswith("4 channels, 3 repeats")
    stats = server.run("dedup", "stats", "--json", *where)
    assert json.loads(stats.out)["duplicate_count"] == "6"
    preview = server.run("dedup", "preview", "--same-channel", "true", *where)
    assert "9 documents decided again: 6 duplicates now, 6 then" in preview.out
    start = client.dedup.watch_decisions(namespace=namespace, timeout=60)
    token = next(start).resume_token
    submit(client, namespace, "late-1", "오래된 극장이 새 이름으로 다시 문을 연다")
    tail = server.run("dedup", "tail", "--count", "1", "--resume-token", token, *where)
    assert tail.code == 0
    assert "late-1" in tail.out
