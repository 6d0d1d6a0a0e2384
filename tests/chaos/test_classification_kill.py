"""kill -9 of a server that classifies: the run is finished, nothing is paid for twice, counts hold.

WINNOW_CHAOS_COMMENTS sets how many comments there are (4,000).
"""

from __future__ import annotations

import collections
import json
import os
from collections.abc import Callable

from eventually import eventually
from fake_llm import FakeLlm
from winnow_process import Server

import winnow
from winnow.classification.v1 import classification_pb2 as pb

COUNT = int(os.environ.get("WINNOW_CHAOS_COMMENTS", "4000"))
CONCURRENCY = 2
BATCH = 16


def comments() -> bytes:
    marks = ("", " #filter", " #suggest", " #toxic")
    return json.dumps(
        [
            {"id": f"c{n}", "videoId": "v", "parentId": None, "text": f"text {n}{marks[n % 4]}"}
            for n in range(COUNT)
        ]
    ).encode()


def exported(client: winnow.Winnow) -> dict[str, str]:
    lines = [json.loads(each) for each in client.classification.export_classifications("v")]
    found = {each["comment_id"]: each["status"] for each in lines}
    assert len(found) == len(lines) == COUNT
    return found


def test_a_killed_servers_run_is_finished_and_nothing_is_paid_for_twice(
    make_server: Callable[..., Server],
) -> None:
    model = FakeLlm()
    llm = {
        "url": model.url,
        "model": "fake",
        "concurrency": CONCURRENCY,
        "batch_size": BATCH,
        "input_price_micros": 250000,
    }
    server = make_server(config={"classification": {"llm": llm}}).start()
    try:
        with server.connect() as client:
            client.classification.import_comments("v", comments())
            run = client.classification.start_run("v", classifier="llm", activate=True)
        eventually(lambda: model.asked() > COUNT // 8, "the model is being asked")
        server.kill()
        known = model.asked()
        assert known < COUNT, "the run was over too soon: raise WINNOW_CHAOS_COMMENTS"
        server.start()
        with server.connect() as client:
            ended = eventually(
                lambda: next(
                    (
                        found
                        for found in [client.classification.get_run(run.id)]
                        if found.state == pb.RUN_STATE_COMPLETE and found.active
                    ),
                    None,
                ),
                "another instance finished the run",
            )
            assert (ended.classified_count, ended.failed_count) == (COUNT, 0)
            assert model.asked() <= COUNT + CONCURRENCY * BATCH, "only calls in flight come twice"
            found = exported(client)
            expected = ("normal", "filtered", "content_suggestion", "filtered")
            assert all(status == expected[int(name[1:]) % 4] for name, status in found.items())
            recount = collections.Counter(found.values())
            counts = client.classification.count_classifications("v")
            assert counts.normal == recount["normal"]
            assert counts.filtered == recount["filtered"]
            assert counts.content_suggestion == recount["content_suggestion"]
            assert counts.unclassified == 0
    finally:
        assert model.end() == ""
