"""`winnow import`: counts that add up, whatever the lines are, and after interrupts."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from eventually import eventually
from pipeline import decision, feed, item, unalike_title
from winnow_process import BINARY, ENVIRONMENT, LIMIT_SECONDS, SAMPLES, Serving, run_winnow

import winnow


def line(number: int, **changes: object) -> str:
    fields: dict[str, object] = {
        "url": f"https://outlet-{number}.example/{number}",
        "title": unalike_title(number),
        "channel": f"channel-{number}",
        "published_at": f"2026-02-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:00Z",
    }
    fields.update(changes)
    return json.dumps(fields, ensure_ascii=False)


def write(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("".join(f"{each}\n" for each in lines))
    return path


def assert_adds_up(report: dict[str, Any]) -> None:
    settled = ("refused", "already_present", "accepted", "duplicates", "undecided")
    assert report["lines"] == sum(report[name] for name in settled)
    assert report["refused"] == sum(report["refused_by_reason"].values())


def test_the_samples_go_in_and_again_change_nothing(server: Serving, namespace: str) -> None:
    first = server.run("import", SAMPLES, "--namespace", namespace, "--create-categories", "--json")
    assert first.code == 0, first.err
    report = first.json()
    assert_adds_up(report)
    assert report["lines"] == len(SAMPLES.read_text().splitlines())
    assert report["refused"] == report["undecided"] == 0
    assert report["already_present"] == 1  # one line repeats an item of its own outlet
    assert report["duplicates"] >= 10

    with server.connect() as client:
        # Of two reports that two processes decide at once either may be the first, and what comes
        # back after the window counts as within it if it is decided first. But each story is shown,
        # once: what comes back is merged into its article.
        items = {each.id: each for each in client.collector.items(namespace=namespace)}
        unique = [
            each
            for each in items.values()
            if decision(client, each).verdict == winnow.Verdict.VERDICT_UNIQUE
        ]
        assert len(unique) == report["accepted"]
        stories = sorted({each.canonical_url for each in unique})
        assert report["accepted"] - 1 <= len(stories) <= report["accepted"]
        eventually(
            lambda: (
                sorted(items[each.id].canonical_url for each in feed(client, namespace)) == stories
            ),
            "each story is shown",
        )
        categories = [each.id for each in client.newsfeed.categories(namespace=namespace)]
        assert "environment" in categories

    again = server.run("import", SAMPLES, "--namespace", namespace, "--json")
    assert again.code == 0
    assert again.json()["already_present"] == report["lines"]


def test_people_get_a_table(server: Serving, namespace: str, tmp_path: Path) -> None:
    path = write(tmp_path, "items.jsonl", [line(1), "nonsense", line(2)])
    done = server.run("import", path, "--namespace", namespace)
    assert done.code == 4
    rows = [row.split() for row in done.out.splitlines()[1:]]
    assert ["lines", "3"] in rows
    assert ["refused", "1", "not", "JSON", "1"] in rows
    assert ["already", "present", "0"] in rows
    assert ["accepted", "2"] in rows
    assert "line 2: is not a JSON object" in done.err


def test_source_names_become_channel_names_and_unknown_fields_are_reported(
    server: Serving, namespace: str, tmp_path: Path
) -> None:
    lines = [
        line(1, source_name="바다뉴스", title="&amp;quot;one&amp;quot; Q&amp;amp;A", score=1.5),
        line(2, source_name="a", channel_name="b", titel="t"),
        line(3, titel="t"),
    ]
    path = write(tmp_path, "items.jsonl", lines)
    done = server.run("import", path, "--namespace", namespace)
    assert done.code == 0, done.err
    assert "line 1: source_name is taken as channel_name" in done.err
    assert "unknown field titel was ignored in 2 lines (did you mean title?)" in done.out
    assert "source_name was taken as channel_name in 1 line" in done.out
    assert "source_name was ignored in 1 line with channel_name" in done.out
    report = server.run("import", path, "--namespace", namespace, "--json").json()
    assert_adds_up(report)
    assert report["already_present"] == 3
    assert report["unknown_fields"] == {"score": 1, "titel": 2}
    assert report["suggested_fields"] == {"titel": "title"}
    assert report["alias_fields"] == report["ignored_alias_fields"] == {"source_name": 1}
    with server.connect() as client:
        items = {each.url[-1]: each for each in client.collector.items(namespace=namespace)}
    assert items["1"].channel_name == "바다뉴스"
    assert items["1"].title == '"one" Q&A'
    assert items["2"].channel_name == "b"


def test_bad_lines_are_counted_by_reason_and_the_rest_goes_in(
    server: Serving, namespace: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    with path.open("wb") as file:
        for text in (
            line(1),
            "not json at all",
            "[1, 2]",
            '{"title": "cut',
            line(2, title=7),
            line(3, categories="ai"),
            line(4, published_at="yesterday"),
            line(5, published_at="10000-01-01T00:00:00Z"),
            line(6, title=""),
            line(7, url="nowhere"),
            line(8, snippet="s" * 20001),
            line(9, title="NUL\u0000here"),
            "",
            line(10, published_at="0001-01-01T00:00:00Z"),
            line(11, published_at="9999-12-31T23:59:59Z"),
            line(12, published_at=None, unknown={"a": [1]}),
        ):
            file.write(text.encode() + b"\n")
        file.write(b'{"title": "\xff\xfe", "channel": "c"}\n')
        file.write(b'{"title": "' + b"x" * (100 << 20) + b'"}\n')  # a 100 MB line
        file.write(line(13).encode())  # and no line break at the end
    done = server.run("import", path, "--namespace", namespace, "--json", seconds=300)
    assert done.code == 4, done.err
    report = done.json()
    assert_adds_up(report)
    reasons = report["refused_by_reason"]
    assert reasons.pop("not JSON") == 3
    assert reasons.pop("not UTF-8") == 1
    assert reasons.pop("over 4 MiB") == 1
    assert reasons.pop("title") in (2, 3)  # 7, empty, and perhaps the NUL
    assert reasons.pop("categories") == 1
    assert reasons.pop("published_at") == 2
    assert reasons.pop("url") == 1
    assert reasons.pop("snippet") == 1
    assert reasons == {}
    assert report["lines"] == 18
    assert report["accepted"] == report["lines"] - report["refused"]
    assert "line 2: is not a JSON object" in done.err
    assert "line 5: title: must be a text" in done.err


def test_a_truncated_gzip_goes_in_as_far_as_it_goes(
    server: Serving, namespace: str, tmp_path: Path
) -> None:
    whole = "".join(f"{line(number)}\n" for number in range(300)).encode()
    path = tmp_path / "cut.jsonl.gz"
    packed = gzip.compress(whole)
    path.write_bytes(packed[: len(packed) // 2])
    done = server.run("import", path, "--namespace", namespace, "--json")
    assert done.code == 1
    assert "ends early: the file is cut off" in done.err
    report = done.json()
    went_in = report["lines"] - report["refused"]
    assert f"came {report['lines']} lines, of which {went_in} are in" in done.err
    assert_adds_up(report)
    assert report["refused_by_reason"] == {"cut off": 1}
    assert 50 < report["accepted"] < 300

    path.write_bytes(packed)
    repaired = server.run("import", path, "--namespace", namespace, "--json")
    assert repaired.code == 0
    assert repaired.json()["already_present"] == report["accepted"]
    assert repaired.json()["lines"] == 300


def test_standard_input_is_read(server: Serving, namespace: str) -> None:
    text = "".join(f"{line(number)}\n" for number in range(5)).encode()
    done = server.run("import", "-", "--namespace", namespace, "--json", stdin=gzip.compress(text))
    assert done.code == 0, done.err
    assert done.json()["accepted"] == 5


def test_wrong_calls_end_with_2_and_say_what(server: Serving, tmp_path: Path) -> None:
    missing = server.run("import", tmp_path / "missing.jsonl")
    assert (missing.code, "missing.jsonl cannot be read" in missing.err) == (2, True)
    folder = server.run("import", tmp_path)
    assert (folder.code, "is a directory" in folder.err) == (2, True)
    name = server.run("import", SAMPLES, "--namespace", "Not A Slug")
    assert (name.code, "--namespace" in name.err) == (2, True)
    option = server.run("import", SAMPLES, "--nonsense")
    assert (option.code, "--nonsense" in option.err) == (2, True)


@pytest.mark.one_process("there is none")
def test_no_server_ends_with_3_and_says_what_to_do() -> None:
    done = run_winnow("import", SAMPLES, "--address", "127.0.0.1:1", "--timeout", "0.5")
    assert done.code == 3
    assert "no Winnow server answers at 127.0.0.1:1" in done.err


def start_import(
    server: Serving, path: str, namespace: str, *options: str
) -> subprocess.Popen[str]:
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(server.folder / "state")}
    command = [str(BINARY), "import", path, "--namespace", namespace, "--json", *options]
    # As a script's background job is: with SIGINT ignored. Ctrl-C has to work all the same.
    return subprocess.Popen(
        ["env", "--ignore-signal=INT", *command, "--address", server.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )


def count_items(client: winnow.Winnow, namespace: str) -> int:
    return sum(1 for _ in client.collector.items(namespace=namespace, page_size=1000))


def test_an_interrupted_import_goes_on_where_it_was(
    server: Serving, client: winnow.Winnow, namespace: str, tmp_path: Path
) -> None:
    lines = [line(number) for number in range(400)]
    checkpoint = str(tmp_path / "checkpoint.json")
    first = start_import(server, "-", namespace, "--checkpoint", checkpoint)
    assert first.stdin is not None
    first.stdin.write("".join(f"{each}\n" for each in [*lines[:150], "nonsense"]))
    first.stdin.flush()
    eventually(lambda: count_items(client, namespace) == 150, "the first part is stored")
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=LIMIT_SECONDS)
    assert first.returncode == 130, err
    assert "The same command resumes from here" in err
    before = json.loads(out)
    assert_adds_up(before)
    assert (before["lines"], before["refused"]) == (151, 1)

    second = start_import(server, "-", namespace, "--checkpoint", checkpoint)
    text = "".join(f"{each}\n" for each in [*lines[:150], "nonsense", *lines[150:]])
    out, err = second.communicate(text, timeout=LIMIT_SECONDS)
    assert second.returncode == 4, err  # one line was refused, before
    assert "going on after line 151" in err
    after = json.loads(out)
    assert_adds_up(after)
    assert (after["lines"], after["refused"], after["accepted"]) == (401, 1, 400)
    assert after["already_present"] == 0
    assert not Path(checkpoint).exists()


def test_a_killed_import_goes_on_and_counts_what_was_there(
    server: Serving, client: winnow.Winnow, namespace: str, tmp_path: Path
) -> None:
    lines = [line(number) for number in range(200)]
    fifo = tmp_path / "items.jsonl"
    os.mkfifo(fifo)
    checkpoint = str(tmp_path / "checkpoint.json")
    first = start_import(server, str(fifo), namespace, "--checkpoint", checkpoint)
    with fifo.open("w") as writer:
        writer.write("".join(f"{each}\n" for each in lines[:80]))
        writer.flush()
        eventually(lambda: count_items(client, namespace) == 80, "the first part is stored")
        first.kill()
        first.communicate(timeout=LIMIT_SECONDS)
    fifo.unlink()
    path = write(tmp_path, "items.jsonl", lines)
    done = server.run("import", path, "--namespace", namespace, "--json")
    assert done.code == 0, done.err
    report = done.json()
    assert_adds_up(report)
    assert report["lines"] == 200
    assert report["already_present"] == 80
    assert count_items(client, namespace) == 200


@pytest.mark.one_process("kills it")
def test_an_import_outlives_a_kill_of_the_server(make_server: Any, tmp_path: Path) -> None:
    server = make_server()
    server.start()
    lines = [line(number) for number in range(300)]
    running = start_import(server, "-", "kill")
    assert running.stdin is not None
    running.stdin.write("".join(f"{each}\n" for each in lines[:100]))
    running.stdin.flush()
    with server.connect() as client:
        eventually(lambda: count_items(client, "kill") > 0, "some are stored")
    server.kill()
    server.start()  # on the same port, where the import looks for it
    out, err = running.communicate(
        "".join(f"{each}\n" for each in lines[100:]), timeout=LIMIT_SECONDS
    )
    assert running.returncode == 0, err
    report = json.loads(out)
    assert_adds_up(report)
    assert (report["lines"], report["already_present"], report["accepted"]) == (300, 0, 300)


def test_progress_goes_to_standard_error_and_the_result_to_standard_output(
    server: Serving, namespace: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "items.jsonl", [line(number) for number in range(20)])
    terminal, slave = os.openpty()
    done = subprocess.run(
        [str(BINARY), "import", str(path), "--namespace", namespace, "--address", server.address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path)},
        timeout=LIMIT_SECONDS,
        check=True,
    )
    os.close(slave)
    drawn = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "items.jsonl [#" in drawn
    assert "\r" in drawn
    assert b"accepted" in done.stdout
    assert b"[#" not in done.stdout


@pytest.mark.parametrize("wrong", [{"channel": ""}, {"title": None}])
def test_the_servers_refusals_are_told_by_line(
    server: Serving, namespace: str, tmp_path: Path, wrong: dict[str, object]
) -> None:
    path = write(tmp_path, "items.jsonl", [line(1), line(2, **wrong)])
    done = server.run("import", path, "--namespace", namespace)
    assert done.code == 4
    assert f"line 2: {next(iter(wrong))}: " in done.err


def test_the_python_example_collects_a_feed(server: Serving, namespace: str) -> None:
    import collect_feed

    source = Path(collect_feed.__file__).parent / "sample_feed.xml"
    items = list(collect_feed.to_items(source.read_bytes(), "", namespace))
    with server.connect() as client:
        collect_feed.collect(client, iter(items))
        assert count_items(client, namespace) == 3
    assert item(namespace, 1).namespace == namespace
