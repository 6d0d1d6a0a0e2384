#!/usr/bin/env python3
"""Checks the client as ctest does: stages the package, then mypy --strict and pytest.

Run by the Python of .tools/venv (tools/install.sh --test makes it).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import generate_stubs

HERE = Path(__file__).resolve().parent


def run(arguments: list[str], environment: dict[str, str], folder: Path) -> bool:
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="winnow-python-") as temporary:
        package = Path(temporary) / "package"
        generate_stubs.stage(package)
        environment = dict(os.environ)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["PYTHONPATH"] = str(package)
        environment["MYPYPATH"] = f"{package}:{HERE / 'tests'}:{HERE / 'examples'}"
        config = str(HERE / "pyproject.toml")
        mypy = ["mypy", "--config-file", config, "--cache-dir", f"{temporary}/mypy"]
        checked = [str(path) for path in sorted((package / "winnow").glob("*.py"))]
        checked += [str(HERE / "tests"), str(HERE / "examples")]
        pytest = ["pytest", "-q", "-c", config, "--rootdir", str(HERE), str(HERE / "tests")]
        typed = run([*mypy, *checked], environment, package)
        tested = run([*pytest, *sys.argv[1:]], environment, package)
        return 0 if typed and tested else 1


if __name__ == "__main__":
    sys.exit(main())
