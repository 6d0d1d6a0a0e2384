#!/usr/bin/env python3
"""Runs a pytest suite that drives the built binary: run_python_suite.py FOLDER [PYTEST OPTION...]

Stages the Python client in a temporary directory first. Run by the Python of .tools/venv, with the
binary in WINNOW_BINARY.

WINNOW_SUITE_TRIES (a folder; set by CI alone) keeps what a try left: when ctest runs a suite again,
only the tests that failed run again, and FOLDER's name and each of them go to "again" there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SUPPORT = Path(__file__).resolve().parents[1]
# Each room is on the path: modules are imported by their own names, and no room shadows a package.
ROOMS = sorted(each for each in SUPPORT.iterdir() if each.is_dir())
ROOT = SUPPORT.parent.parent
SOME_FAILED = 1  # pytest's exit code when all tests ran and some failed
sys.path.insert(0, str(ROOT / "clients" / "python"))

import generate_stubs  # noqa: E402  (found through the line above)


class Tries:
    """What pytest knows of the try before, as far as that one ran to its end."""

    def __init__(self, folder: Path, suite: str) -> None:
        self._again = folder / "again"
        self._suite = suite
        self._cache = folder / suite
        self._whole = self._cache / "ran-to-its-end"

    def options(self) -> list[str]:
        """The arguments of this try: everything, or only what failed."""
        options = ["-o", f"cache_dir={self._cache}"]
        if not self._whole.exists():
            return options
        failed = json.loads((self._cache / "v" / "cache" / "lastfailed").read_text())
        with self._again.open("a") as again:
            for test in sorted(failed):
                print(f"!!!! a try failed and is run again: {self._suite} {test}", flush=True)
                again.write(f"{self._suite} {test}\n")
        return [*options, "--last-failed", "--last-failed-no-failures", "none"]

    def ended(self, code: int) -> None:
        self._whole.unlink(missing_ok=True)
        if code == SOME_FAILED:
            self._whole.touch()


def pytest_options(temporary: Path, folder: Path) -> list[str]:
    return [
        "-q",
        "--rootdir",
        str(folder),
        "-c",
        os.devnull,
        "--basetemp",
        str(temporary / "tests"),
    ]


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit("usage: run_python_suite.py FOLDER [PYTEST OPTION...]")
    folder = Path(sys.argv[1]).resolve()
    kept = os.environ.get("WINNOW_SUITE_TRIES")
    tries = Tries(Path(kept), folder.name) if kept else None
    with tempfile.TemporaryDirectory(prefix="winnow-suite-", dir="/tmp") as name:
        temporary = Path(name)
        generate_stubs.stage(temporary / "package")
        examples = ROOT / "clients" / "python" / "examples"
        paths = [temporary / "package", *ROOMS, folder, examples]
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["PYTEST_ADDOPTS"] = ""  # tools/lib.sh turns the cache off, which tries live on
        command = [sys.executable, "-m", "pytest", *pytest_options(temporary, folder)]
        command += tries.options() if tries else ["-p", "no:cacheprovider"]
        command += [str(folder), *sys.argv[2:]]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
    if tries:
        tries.ended(done.returncode)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
