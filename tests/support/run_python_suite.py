#!/usr/bin/env python3
"""Runs a pytest suite that drives the built binary: run_python_suite.py FOLDER [PYTEST OPTION...]

Stages the Python client in a temporary directory first. Run by the Python of .tools/venv, with the
binary in WINNOW_BINARY.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parent.parent
sys.path.insert(0, str(ROOT / "clients" / "python"))

import generate_stubs  # noqa: E402  (found through the line above)


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit("usage: run_python_suite.py FOLDER [PYTEST OPTION...]")
    folder = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="winnow-suite-", dir="/tmp") as name:
        temporary = Path(name)
        generate_stubs.stage(temporary / "package")
        examples = ROOT / "clients" / "python" / "examples"
        paths = [temporary / "package", SUPPORT, folder, examples]
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["--rootdir", str(folder), "-c", os.devnull]
        command += ["--basetemp", str(temporary / "tests"), str(folder), *sys.argv[2:]]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
