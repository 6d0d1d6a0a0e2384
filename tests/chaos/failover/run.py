#!/usr/bin/env python3
"""./x chaos failover [LEG...]: what happens to acknowledged writes when the ground moves.

Each leg runs real processes against real servers, prints what was acknowledged, lost and duplicated
and for how long each service acknowledged nothing, and fails where anything was lost or duplicated.
Run by the Python of .tools/venv, with the binary in WINNOW_BINARY.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.dont_write_bytecode = True
ROOMS = sorted(each for each in (ROOT / "tests" / "support").iterdir() if each.is_dir())
sys.path[:0] = list(map(str, (HERE, *ROOMS, ROOT / "clients" / "python")))

import generate_stubs  # noqa: E402  (found through the line above)
from leg import Result, table  # noqa: E402

LEGS = tuple(sorted(each.stem.removesuffix("_leg") for each in HERE.glob("*_leg.py")))


def run(name: str) -> Result:
    print(f"\n== failover: {name}", flush=True)
    began = time.monotonic()
    try:
        result: Result = importlib.import_module(f"{name}_leg").run()
    except Exception as error:  # a leg that breaks must not hide the figures of the others
        traceback.print_exc()
        result = Result(name, failures=[f"{type(error).__name__}: {error}"])
    result.notes.append(f"took {time.monotonic() - began:.0f} s")
    print(table([result]), flush=True)
    return result


def main() -> int:
    names = sys.argv[1:] or list(LEGS)
    unknown = [each for each in names if each not in LEGS]
    if unknown:
        sys.exit(f"no such leg: {', '.join(unknown)}; the legs are {', '.join(LEGS)}")
    with tempfile.TemporaryDirectory(prefix="winnow-failover-", dir="/tmp") as staged:
        generate_stubs.stage(Path(staged))
        sys.path.insert(0, staged)
        results = [run(each) for each in names]
    print(f"\n{table(results)}")
    return 0 if all(each.passed for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
