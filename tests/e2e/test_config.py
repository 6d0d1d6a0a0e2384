"""check-config: all that is wrong at once, by field; and the order defaults, file, flags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from winnow_process import Finished, run_winnow

pytestmark = pytest.mark.one_process("checked before anything is served")


def check(tmp_path: Path, config: object, *arguments: str) -> Finished:
    path = tmp_path / "config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return run_winnow("check-config", "--config", path, *arguments)


def test_nothing_at_all_is_a_good_configuration() -> None:
    done = run_winnow("check-config")
    assert done.code == 0, done.err
    assert "good" in done.out


def test_flags_override_the_file_which_overrides_the_defaults(tmp_path: Path) -> None:
    config = {"listen": "127.0.0.1:7001", "calls": {"read_threads": 3}, "targets": ["all"]}
    done = check(tmp_path, config, "--listen", "127.0.0.1:7002", "--data-dir", "/srv/w", "--print")
    assert done.code == 0, done.err
    effective: dict[str, Any] = done.json()
    assert effective["listen"] == "127.0.0.1:7002"
    assert effective["calls"]["read_threads"] == 3
    assert effective["data_dir"] == "/srv/w"
    assert effective["dedup"]["window"] == "86400s"
    assert effective["postgres"]["url"] == "postgres-private:"


def test_each_derived_default_is_printed_with_its_origin(tmp_path: Path) -> None:
    config = {"calls": {"read_threads": 3}, "dedup": {"max_documents": 5000}, "data_dir": "/srv/w"}
    done = check(tmp_path, config, "--print")
    assert done.code == 0, done.err
    effective: dict[str, Any] = done.json()
    derived = {}
    for line in done.err.splitlines():
        setting, _, origin = line.partition(": ")
        field, _, value = setting.partition(" = ")
        assert origin.startswith("derived from "), line
        section, name = field.split(".")
        assert str(effective[section][name]) == value, line
        derived[field] = origin
    assert "calls.write_threads" in derived
    assert "newsfeed.memory_feeds" in derived
    assert not {"calls.read_threads", "dedup.max_documents"} & derived.keys()


def test_the_printed_configuration_is_one_that_can_be_read_again(tmp_path: Path) -> None:
    first = check(tmp_path, {"data_dir": "/srv/w"}, "--print")
    again = check(tmp_path, first.out, "--print")
    assert (again.code, again.out, again.err) == (0, first.out, "")


def test_settings_that_cannot_fit_into_memory_are_a_warning(tmp_path: Path) -> None:
    config = {"dedup": {"max_documents": 100_000_000}, "calls": {"stream_memory_bytes": 1 << 40}}
    done = check(tmp_path, {**config, "data_dir": "/srv/w"})
    assert done.code == 0, done.err
    assert "good" in done.out
    assert "winnow: warning: the configuration may need " in done.err
    assert "calls.stream_memory_bytes" in done.err


def test_all_violations_are_told_at_once(tmp_path: Path) -> None:
    config = {
        "listen": "nonsense",
        "targets": ["collector", "polling"],
        "calls": {"read_threads": -1, "drain_delay": "3600s"},
        "dedup": {"token_threshold": 1.5},
        "log": {"level": "loud"},
        "tls": {"cert_file": "/nowhere.pem"},
    }
    done = check(tmp_path, config)
    assert done.code == 2
    for field in (
        "listen",
        "targets",
        "calls.read_threads",
        "calls.drain_delay",
        "dedup.token_threshold",
        "log.level",
        "tls",
    ):
        assert field in done.err, done.err
    assert len(done.err.splitlines()) >= 7


def test_an_unknown_field_hides_nothing(tmp_path: Path) -> None:
    config = {"lisen": "127.0.0.1:1", "log": {"level": "loud"}, "listen": 7, "data_dir": "/w"}
    done = check(tmp_path, config, "--metrics", "nonsense")
    assert done.code == 2
    reported = [line.split(": ")[1] for line in done.err.splitlines()]
    assert sorted(reported) == ["lisen", "listen", "log.level", "metrics.listen"], done.err


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('{"lisen": "127.0.0.1:1"}', "lisen"),
        ('{"calls": {"read_thread": 4}}', "read_thread"),
        ('{"listen": 7}', "listen"),
        ('{"listen": "127.0.0.1:1", "listen": "127.0.0.1:2"}', "listen"),
        ('{"listen": ', "config.json"),
        ("[]", "config.json"),
        ('{"calls": {"default_deadline": "soon"}}', "default_deadline"),
    ],
)
def test_a_file_that_is_no_configuration_is_told(
    tmp_path: Path, config: str, expected: str
) -> None:
    done = check(tmp_path, config)
    assert done.code == 2
    assert expected in done.err, done.err


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    done = run_winnow("check-config", "--config", tmp_path / "none.json")
    assert done.code == 2
    assert "none.json" in done.err


def test_several_processes_need_a_store_to_share(tmp_path: Path) -> None:
    done = run_winnow("check-config", "--target", "dedup")
    assert done.code == 2
    assert "postgres.url" in done.err


def test_the_world_is_listened_to_with_tls_or_when_said_aloud(tmp_path: Path) -> None:
    everywhere = run_winnow("check-config", "--listen", "0.0.0.0:7400")
    assert everywhere.code == 2
    assert "insecure" in everywhere.err
    assert run_winnow("check-config", "--listen", "0.0.0.0:7400", "--insecure").code == 0


def test_serve_refuses_what_check_config_refuses(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"lisen": "127.0.0.1:1"}')
    done = run_winnow("serve", "--config", path, "--data-dir", tmp_path / "data")
    assert done.code == 2
    assert "lisen" in done.err
    assert not (tmp_path / "data").exists()
