"""Comments to verdicts through the built binary: the client, `winnow classify`, Redis."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from eventually import eventually
from winnow_process import Server, Serving

import winnow
from winnow.classification.v1 import classification_pb2 as pb
from winnow.classification.v1 import classification_service_pb2 as service

TEXTS = (
    "오늘도 잘 봤습니다",
    "다음에는 캠핑 영상도 올려주세요",
    "check out my channel and subscribe http://a.example",
)
COUNT = 60


def dump(count: int = COUNT) -> bytes:
    """A commentThreads page of the YouTube Data API: every third comment is filtered."""
    items = [
        {
            "id": f"c{number}",
            "snippet": {
                "totalReplyCount": 0,
                "topLevelComment": {
                    "id": f"c{number}",
                    "snippet": {
                        "textOriginal": f"{TEXTS[number % 3]} {number}",
                        "publishedAt": f"2026-02-01T00:{number // 60:02}:{number % 60:02}Z",
                    },
                },
            },
        }
        for number in range(count)
    ]
    return json.dumps({"kind": "youtube#commentThreadListResponse", "items": items}).encode()


def classified(client: winnow.Winnow, video: str, namespace: str) -> pb.Run:
    client.classification.import_comments(video, dump(), namespace=namespace)
    run = client.classification.start_run(video, namespace=namespace, activate=True)
    *_, last = client.classification.watch_run(run.id, namespace=namespace)
    assert last.state == pb.RUN_STATE_COMPLETE
    assert last.classified_count + last.failed_count == last.input_count == COUNT
    return last


def test_every_comment_gets_one_verdict(client: winnow.Winnow, namespace: str) -> None:
    run = classified(client, "v", namespace)
    calls = client.classification
    lines = [json.loads(each) for each in calls.export_classifications("v", namespace=namespace)]
    assert sorted(each["comment_id"] for each in lines) == sorted(f"c{n}" for n in range(COUNT))
    assert {each["run_id"] for each in lines} == {run.id}
    counts = calls.count_classifications("v", namespace=namespace)
    assert counts.normal + counts.filtered + counts.content_suggestion == COUNT
    assert counts.unclassified == 0
    filtered = list(calls.classifications("v", pb.COMMENT_STATUS_FILTERED, namespace=namespace))
    assert len(filtered) == counts.filtered >= COUNT // 3
    assert [each.publish_time.seconds for each in filtered] == sorted(
        (each.publish_time.seconds for each in filtered), reverse=True
    )
    assert len(list(calls.runs("v", namespace=namespace))) == 1
    again = calls.import_comments("v", dump(), namespace=namespace)
    assert (again.created_count, again.unchanged_count) == (0, COUNT)
    calls.import_comments("v", b'[{"id":"late","text":"x"}]', namespace=namespace)
    late = list(calls.classifications("v", pb.COMMENT_STATUS_UNCLASSIFIED, namespace=namespace))
    assert [each.comment_id for each in late] == ["late"]


def test_people_outrank_models_and_can_take_it_back(client: winnow.Winnow, namespace: str) -> None:
    classified(client, "v", namespace)
    calls = client.classification
    before = calls.count_classifications("v", namespace=namespace)
    ids = [f"c{number}" for number in range(0, 30, 3)]
    trial = calls.bulk_override_classifications(
        "v", ids, pb.COMMENT_STATUS_FILTERED, dry_run=True, namespace=namespace
    )
    assert (trial.changed_count, trial.bulk_id) == (10, "")
    calls.override_classification(
        "v", ids[0], pb.COMMENT_STATUS_CONTENT_SUGGESTION, namespace=namespace
    )
    bulk = calls.bulk_override_classifications(
        "v", ids, pb.COMMENT_STATUS_FILTERED, actor="mina", namespace=namespace
    )
    conflicts = list(calls.override_conflicts("v", namespace=namespace))
    assert sorted(each.comment_id for each in conflicts) == sorted(ids)
    rerun = calls.start_run("v", namespace=namespace, activate=True)
    list(calls.watch_run(rerun.id, namespace=namespace))
    assert calls.get_classification("v", "c0", namespace=namespace).actor == "mina"
    undone = calls.undo_override("v", bulk_id=bulk.bulk_id, namespace=namespace)
    assert (undone.undone_count, undone.restored_count) == (len(ids), 1)
    single = calls.get_classification("v", ids[0], namespace=namespace)
    assert single.status == pb.COMMENT_STATUS_CONTENT_SUGGESTION, "as it was before the bulk"
    assert calls.undo_override("v", ids[0], namespace=namespace).undone_count == 1
    assert calls.count_classifications("v", namespace=namespace) == before

    appeal = calls.create_appeal("v", "c2", "this is praise", "r1", namespace=namespace)
    assert calls.create_appeal("v", "c2", "this is praise", "r1", namespace=namespace) == appeal
    assert calls.get_appeal(appeal.id, namespace=namespace) == appeal
    waiting = calls.appeals("v", state=pb.APPEAL_STATE_OPEN, namespace=namespace)
    assert list(waiting) == [appeal]
    calls.resolve_appeal(
        appeal.id, pb.APPEAL_STATE_GRANTED, status=pb.COMMENT_STATUS_NORMAL, namespace=namespace
    )
    assert not list(calls.appeals(state=pb.APPEAL_STATE_OPEN, namespace=namespace))
    assert (
        calls.get_classification("v", "c2", namespace=namespace).status == pb.COMMENT_STATUS_NORMAL
    )
    actions = {each.action for each in calls.audit_entries("v", namespace=namespace)}
    assert {"bulk_override", "undo", "appeal", "appeal_granted", "activate"} <= actions


def test_an_agent_delivers_verdicts_and_runs_are_compared(
    client: winnow.Winnow, namespace: str
) -> None:
    first = classified(client, "v", namespace)
    calls = client.classification
    run = calls.start_run("v", namespace=namespace, classifier="external", model="gpt-5-mini")
    lists = {"normal": [f"c{n}" for n in range(COUNT)], "filtered": ["nobody"]}
    request = service.IngestVerdictsRequest(
        namespace=namespace, run_id=run.id, lists=json.dumps(lists)
    )
    ((_, answer),) = calls.ingest_verdicts([request])
    assert isinstance(answer, service.IngestedVerdicts)
    assert (answer.written_count, answer.missing_count, answer.refused_count) == (COUNT, 0, 1)
    assert [each.comment_id for each in answer.refused] == ["nobody"]
    calls.activate_run(run.id, namespace=namespace)
    assert calls.count_classifications("v", namespace=namespace).normal == COUNT
    compared = calls.compare_runs(run.id, first.id, namespace=namespace)
    assert sum(cell.count for cell in compared.matrix) == COUNT
    changed = sum(cell.count for cell in compared.matrix if cell.base_status != cell.status)
    assert len(compared.changes) == changed > 0
    assert calls.rollback_run(run.id, namespace=namespace).id == first.id
    with pytest.raises(winnow.FailedPrecondition):
        calls.rollback_run(run.id, namespace=namespace)


def test_a_policy_is_tried_then_written_by_compare_and_set(
    client: winnow.Winnow, namespace: str
) -> None:
    classified(client, "v", namespace)
    calls = client.classification
    policy = calls.get_policy(namespace=namespace)
    policy.text_rules.add(contains="캠핑", status=pb.COMMENT_STATUS_FILTERED)
    preview = calls.preview_policy("v", policy, ["text_rules"], namespace=namespace)
    assert preview.counts.filtered >= 2 * COUNT // 3
    written = calls.update_policy(policy, ["text_rules"], namespace=namespace)
    assert written.version == policy.version + 1
    with pytest.raises(winnow.Aborted):
        calls.update_policy(policy, ["text_rules"], namespace=namespace)
    verdicts = calls.classify_texts(["캠핑 가자"], namespace=namespace)
    assert (verdicts.policy_name, verdicts.policy_version) == ("default", written.version)
    assert verdicts.verdicts[0].reason == "text_rule"
    older = calls.classify_texts(["캠핑 가자"], policy_version=1, namespace=namespace)
    assert older.verdicts[0].reason != "text_rule"


def test_changes_are_streamed_and_resumed(client: winnow.Winnow, namespace: str) -> None:
    calls = client.classification
    watch = calls.watch_classifications(namespace=namespace, timeout=60)
    token = next(watch).resume_token
    classified(client, "v", namespace)
    activated = next(watch)
    assert activated.activated.video_id == "v"
    calls.override_classification("v", "c0", pb.COMMENT_STATUS_FILTERED, namespace=namespace)
    changed = next(watch).changed
    assert (changed.comment_id, changed.status) == ("c0", pb.COMMENT_STATUS_FILTERED)
    calls.delete_video("v", namespace=namespace)
    resumed = calls.watch_classifications(namespace=namespace, resume_token=token, timeout=60)
    assert next(resumed).WhichOneof("event") is None
    assert next(resumed).deleted.video_id == "v", "what was said of a deleted video goes with it"
    with pytest.raises(winnow.NotFound):
        calls.count_classifications("v", namespace=namespace)


def test_the_command_line_does_what_an_operator_needs(
    server: Serving, namespace: str, tmp_path: Path
) -> None:
    path = tmp_path / "comments.json"
    path.write_bytes(dump())
    where = ("--namespace", namespace)
    imported = server.run("classify", "import", path, "--video", "v", *where)
    assert imported.code == 0, imported.err
    assert f"{COUNT} new" in imported.out
    assert f"COMPLETE, active, {COUNT} of {COUNT} classified, 0 failed" in imported.out
    first = imported.out.rsplit("run ", 1)[1].split()[0]
    again = server.run("classify", "import", "-", "--video", "v", *where, stdin=dump())
    second = again.out.rsplit("run ", 1)[1].split()[0]
    same = server.run("classify", "diff", first, second, "--json", *where)
    assert same.code == 0
    assert "changes" not in json.loads(same.out)
    listed = server.run("classify", "list", "--video", "v", "--count", "5", *where)
    assert len(listed.out.splitlines()) == 5
    none = server.run("classify", "list", "--video", "v", "--status", "unclassified", *where)
    assert none.out == "none\n"
    watched = server.run("classify", "watch", second, "--json", *where)
    assert watched.json()["classified_count"] == str(COUNT)
    ended = server.run("classify", "watch", second, "--resume", *where)
    assert ended.code != 0
    assert "has ended" in ended.err
    texts = server.run("classify", "texts", "--explain", "2", stdin="\n".join(TEXTS).encode())
    assert [each.split()[0] for each in texts.out.splitlines() if each[0] != " "] == [
        "NORMAL",
        "CONTENT_SUGGESTION",
        "FILTERED",
    ]
    missing = server.run("classify", "list", "--video", "nothing", *where)
    assert missing.code != 0
    assert "nothing" in missing.err


def test_the_command_line_classifies_any_amount_and_names_bad_lines(
    server: Serving, tmp_path: Path
) -> None:
    many = gzip.compress("\n\n".join(TEXTS * 500).encode())
    lines = server.run("classify", "texts", stdin=many).out.splitlines()
    assert len(lines) == len(TEXTS) * 500
    assert [each.split()[0] for each in lines[-3:]] == ["NORMAL", "CONTENT_SUGGESTION", "FILTERED"]
    for line, why in ((b"\xff\xfe", "is not UTF-8"), (b"x" * 20_001, "is over 20,000")):
        refused = server.run("classify", "texts", stdin=b"good\n\n" + line + b"\n")
        assert refused.code != 0
        assert refused.out.startswith("NORMAL"), "what stands before it has its verdict"
        assert "line 3" in refused.err
        assert why in refused.err
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate((128 << 20) + 1)
    refused = server.run("classify", "import", large, "--video", "v")
    assert refused.code != 0
    assert "is over 128 MiB" in refused.err


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    socket = tmp_path / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--dir", str(tmp_path)]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command, "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
    )
    try:
        eventually(socket.exists, "Redis listens")
        yield f"unix://{socket}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.one_process("a Redis of its own")
def test_a_plain_redis_client_never_reads_a_mix(
    make_server: Callable[..., Server], redis_url: str
) -> None:
    """The published flow: SET the raw comments, import by key, read the hash during swaps."""
    server = make_server(config={"redis": {"url": redis_url.replace("unix://", "redis+unix://")}})
    server.start()
    reader = redis.Redis.from_url(redis_url, decode_responses=True)
    reader.set("youtube:video:PLo9u5Mm5TA:comments", dump())
    key = "video:PLo9u5Mm5TA:classification"
    with server.connect() as client:
        calls = client.classification
        taken = calls.import_comments("PLo9u5Mm5TA", redis_key="youtube:video:PLo9u5Mm5TA:comments")
        assert taken.created_count == COUNT
        assert reader.get("youtube:video:PLo9u5Mm5TA:comments") == dump().decode()
        runs = []
        for status in ("normal", "filtered"):
            run = calls.start_run("PLo9u5Mm5TA", classifier="external", model=status)
            lists = json.dumps({status: [f"c{n}" for n in range(COUNT)]})
            list(calls.ingest_verdicts([service.IngestVerdictsRequest(run_id=run.id, lists=lists)]))
            runs.append(run.id)
        calls.activate_run(runs[0])
        eventually(lambda: reader.exists(key), "the hash is there")
        stop = threading.Event()

        def swap() -> None:
            turn = 0
            while not stop.is_set():
                turn += 1
                calls.activate_run(runs[turn % 2])

        swapper = threading.Thread(target=swap)
        swapper.start()
        seen: set[str] = set()
        try:

            def read_both() -> bool:
                verdicts = reader.hgetall(key)
                metadata = json.loads(verdicts.pop("_metadata"))
                assert {"updated_at", "model"} <= set(metadata)
                statuses = {json.loads(value)["status"] for value in verdicts.values()}
                assert len(verdicts) == COUNT
                assert len(statuses) == 1, "a mix of runs"
                seen.update(statuses)
                return seen == {"normal", "filtered"}

            eventually(read_both, "both runs were seen")
        finally:
            stop.set()
            swapper.join()
        value = json.loads(reader.hgetall(key)["c0"])
        assert value in ({"status": "normal"}, {"status": "filtered", "reason": "auto_detected"})
