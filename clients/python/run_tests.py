#!/usr/bin/env python3
"""Checks the client and the suites that use it, from a package staged in a temporary directory.

mypy --strict over the client, its tests and example, tests/{e2e,chaos}; then the client's tests.
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
ROOT = HERE.parent.parent


def environment_with(package: Path) -> dict[str, str]:
    environment = dict(os.environ)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTHONPATH"] = str(package)
    return environment


def run(arguments: list[str], environment: dict[str, str], folder: Path) -> bool:
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL)
    return done.returncode == 0


# Modules that suites share; each folder is on their path.
SUPPORT = sorted(each for each in (ROOT / "tests" / "support").iterdir() if each.is_dir())
# Checked apart: each has modules of the same names.
GROUPS = (
    (HERE / "tests", HERE / "examples"),
    (*SUPPORT, ROOT / "tests" / "e2e", HERE / "examples"),
    (*SUPPORT, ROOT / "tests" / "chaos"),
)


def check_types(package: Path, temporary: Path) -> bool:
    cache = os.environ.get("MYPY_CACHE_DIR", str(temporary / "mypy"))
    command = ["mypy", "--config-file", str(HERE / "pyproject.toml"), "--cache-dir", cache]
    good = True
    for folders in GROUPS:
        environment = environment_with(package)
        environment["MYPYPATH"] = os.pathsep.join(map(str, [package, HERE, *folders]))
        sources = sorted((package / "winnow").glob("*.py"))
        sources += [path for folder in folders for path in sorted(folder.glob("*.py"))]
        good = run([*command, *map(str, sources)], environment, package) and good
    return good


def run_tests(package: Path, temporary: Path) -> bool:
    command = ["pytest", "-q", "-c", str(HERE / "pyproject.toml"), "--rootdir", str(HERE)]
    return run([*command, str(HERE / "tests")], environment_with(package), temporary)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="winnow-python-") as name:
        temporary = Path(name)
        package = temporary / "package"
        generate_stubs.stage(package)
        typed = check_types(package, temporary)
        return 0 if run_tests(package, temporary) and typed else 1


if __name__ == "__main__":
    sys.exit(main())
