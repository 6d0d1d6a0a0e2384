"""What tools/trial.sh finds out about the machine that it runs on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

# Its text, since another user may not be able to enter this checkout.
MACHINE = (Path(__file__).resolve().parents[3] / "tools" / "trial_machine.sh").read_text()
NOBODY = 65534


def call(
    function: str, folder: Path, *, user: int | None = None
) -> subprocess.CompletedProcess[str]:
    """A function of tools/trial_machine.sh under the shell options of tools/trial.sh."""
    script = f'set -euo pipefail\n{MACHINE}\n{function} "$1"'
    return subprocess.run(
        ["bash", "-c", script, "trial", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        user=user,
        extra_groups=None if user is None else [],
        cwd="/",
    )


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


def test_the_mirror_is_found_where_there_are_only_deb822_sources(apt: Path) -> None:
    (apt / "sources.list.d" / "debian.sources").write_text(
        "Types: deb\n# http://snapshot.example/\nURIs: http://deb822.example/debian\nSuites: x\n"
    )
    found = call("apt_mirror", apt)
    assert (found.returncode, found.stdout) == (0, "http://deb822.example/debian\n"), found.stderr


def test_the_mirror_is_found_where_there_is_only_a_sources_list(apt: Path) -> None:
    (apt / "sources.list").write_text(
        "# deb http://commented.example x main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://list.example/debian bookworm main\n"
        "deb http://second.example/debian bookworm main\n"
    )
    found = call("apt_mirror", apt)
    assert (found.returncode, found.stdout) == (0, "http://list.example/debian\n"), found.stderr


def test_the_mirror_is_found_where_sources_list_is_empty(apt: Path) -> None:
    (apt / "sources.list").write_text("# moved to sources.list.d\n")
    (apt / "sources.list.d" / "company.sources").write_text("URIs: http://company.example/debian\n")
    found = call("apt_mirror", apt)
    assert (found.returncode, found.stdout) == (0, "http://company.example/debian\n"), found.stderr


def test_no_mirror_is_a_failure_that_trial_sh_can_report(apt: Path) -> None:
    assert call("apt_mirror", apt).returncode == 1


def test_a_cache_with_one_folder_that_cannot_be_written_to_is_not_shared() -> None:
    """Root may write everywhere, so as root the question is asked for another user."""
    user = NOBODY if os.getuid() == 0 else None
    cache = Path(tempfile.mkdtemp(prefix="winnow-trial-", dir="/tmp"))
    inner = cache / "0" / "a"
    inner.mkdir(parents=True)
    for each in (cache, cache / "0", inner):
        each.chmod(0o777)
    result = inner / "resultR"
    result.write_text("x")
    result.chmod(0o644)
    try:
        assert call("cache_obstacle", cache, user=user).stdout == ""
        result.chmod(0o000)
        assert call("cache_obstacle", cache, user=user).stdout == f"{result}\n"
        result.chmod(0o644)
        inner.chmod(0o555)
        assert call("cache_obstacle", cache, user=user).stdout == f"{inner}\n"
    finally:
        inner.chmod(0o777)
        shutil.rmtree(cache)
