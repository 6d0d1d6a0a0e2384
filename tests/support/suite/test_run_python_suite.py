"""When ctest runs a suite again only what failed runs again, and the summary says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUNNER = Path(__file__).resolve().parent / "run_python_suite.py"
CUT_OFF = 77
# Each test writes its name; one fails until its folder holds "fixed", or cuts all off at "cut".
SUITE = f"""
import os
from pathlib import Path

HERE = Path(__file__).parent

def ran(name):
    with (HERE / "ran").open("a") as file:
        file.write(name)

def test_good():
    ran("g")

def test_flaky():
    ran("f")
    if (HERE / "cut").exists():
        os._exit({CUT_OFF})
    assert (HERE / "fixed").exists()
"""


def run(suite: Path, tries: Path | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if "WINNOW_SUITE" not in name}
    environment["PYTEST_ADDOPTS"] = "-p no:cacheprovider"  # as tools/lib.sh says it
    if tries is not None:
        environment["WINNOW_SUITE_TRIES"] = str(tries)
    return subprocess.run(
        [sys.executable, str(RUNNER), str(suite)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def make_suite(folder: Path) -> Path:
    suite = folder / "toy"
    suite.mkdir()
    (suite / "test_toy.py").write_text(SUITE)
    return suite


def test_the_next_try_runs_what_failed_and_tells(tmp_path: Path) -> None:
    suite, tries = make_suite(tmp_path), tmp_path / "tries"
    tries.mkdir()
    assert run(suite, tries).returncode == 1
    assert not (tries / "again").exists()
    second = run(suite, tries)
    assert second.returncode == 1
    assert "run again: toy test_toy.py::test_flaky" in second.stdout
    (suite / "fixed").touch()
    assert run(suite, tries).returncode == 0
    assert (tries / "again").read_text() == "toy test_toy.py::test_flaky\n" * 2
    assert (suite / "ran").read_text() == "gf" + "f" + "f"
    # A run after a success is not a rerun.
    assert run(suite, tries).returncode == 0
    assert (suite / "ran").read_text() == "gfff" + "gf"


def test_a_try_that_was_cut_off_is_run_again_whole(tmp_path: Path) -> None:
    suite, tries = make_suite(tmp_path), tmp_path / "tries"
    tries.mkdir()
    assert run(suite, tries).returncode == 1
    (suite / "cut").touch()
    assert run(suite, tries).returncode == CUT_OFF
    (suite / "cut").unlink()
    assert run(suite, tries).returncode == 1
    assert (suite / "ran").read_text() == "gf" + "f" + "gf"


def test_outside_of_ci_every_try_is_whole(tmp_path: Path) -> None:
    suite = make_suite(tmp_path)
    for _ in range(2):
        assert run(suite, None).returncode == 1
    assert (suite / "ran").read_text() == "gfgf"
