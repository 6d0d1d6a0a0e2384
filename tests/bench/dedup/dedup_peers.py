"""Winnow's exact index beside datasketch and rensa, in one run on the same tokens.

    python3 tests/bench/dedup/dedup_peers.py \\
        [--bench build/release/bin/bench_dedup_index] [--rounds 3]

The job: the titles of the whole real stream (WINNOW_DATA), one after the other, each looked up
among all before it at Jaccard .8 and then kept. Tokens are made beforehand; signatures are part of
a peer's job. Rounds are interleaved and medians printed, of processor time. Recall is of the pairs
at or above .8, which the exact index finds all (its tests compare it with brute force).

Peers are for this alone: they live in an environment of their own (.cache/bench-peers), made here
from tools/requirements-bench.txt.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / ".cache" / "bench-peers"
PERMUTATIONS = 128
BANDS = 16
ROWS = 8

Tokens = list[list[str]]
Found = set[tuple[int, int]]


def enter_environment() -> None:
    python = HOME / "bin" / "python"
    if Path(sys.prefix) == HOME:
        return
    if not python.exists():
        venv.create(HOME, with_pip=True)
        wanted = ROOT / "tools" / "requirements-bench.txt"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", wanted], check=True)
    os.execv(python, [str(python), *sys.argv])


def run_datasketch(tokens: Tokens, threshold: float | None) -> Found:
    from datasketch import MinHash, MinHashLSH

    if threshold is None:
        index = MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS))
    else:
        index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
    found: Found = set()
    for number, title in enumerate(tokens):
        signature = MinHash(num_perm=PERMUTATIONS)
        signature.update_batch([token.encode() for token in title])
        found.update((earlier, number) for earlier in index.query(signature))
        index.insert(number, signature)
    return found


def run_rensa(tokens: Tokens) -> Found:
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(threshold=0.8, num_perm=PERMUTATIONS, num_bands=BANDS)
    found: Found = set()
    # All signatures at once: its fastest way.
    signatures = RMinHash.from_token_sets(tokens, PERMUTATIONS, 42)
    for number, signature in enumerate(signatures):
        found.update((earlier, number) for earlier in index.query(signature))
        index.insert(number, signature)
    return found


def run_prefix_filter(tokens: list[list[int]], threshold: float) -> Found:
    """The exact job in plain Python: prefix filter, every candidate compared."""
    holders: dict[int, list[int]] = {}
    sets = [frozenset(title) for title in tokens]
    found: Found = set()
    for number, title in enumerate(tokens):
        prefix = title[: len(title) - -int(-threshold * len(title) // 1) + 1]
        for earlier in {other for token in prefix for other in holders.get(token, ())}:
            shared = len(sets[number] & sets[earlier])
            if shared >= threshold * (len(title) + len(tokens[earlier]) - shared):
                found.add((earlier, number))
        for token in prefix:
            holders.setdefault(token, []).append(number)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", default=str(ROOT / "build/release/bin/bench_dedup_index"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    enter_environment()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.bench, "--dump", folder], check=True, cwd=ROOT)
        if not (Path(folder) / "tokens").exists():
            print("not run: WINNOW_DATA holds no news")
            return 0
        lines = (Path(folder) / "tokens").read_text().splitlines()
        pairs = (Path(folder) / "pairs").read_text().splitlines()
    tokens = [line.split() for line in lines]
    numbers = [[int(token) for token in title] for title in tokens]
    true = {(int(a), int(b)) for a, b in (line.split() for line in pairs)}

    speeds: dict[str, list[float]] = {}
    recalls: dict[str, float] = {}
    legs: dict[str, Callable[[], Found]] = {
        "datasketch 16x8": lambda: run_datasketch(tokens, None),
        "datasketch threshold .8": lambda: run_datasketch(tokens, 0.8),
        "rensa 16x8": lambda: run_rensa(tokens),
        "prefix filter in Python": lambda: run_prefix_filter(numbers, 0.8),
    }
    for _ in range(options.rounds):
        for name in ("winnow", "winnow again (A/A)"):
            command = [options.bench, "--whole"]
            answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
            speeds.setdefault(name, []).append(float(answer.stdout.split()[0]))
            recalls[name] = int(answer.stdout.split()[1]) / len(true)
        for name, run in legs.items():
            begin = time.process_time()
            found = run()
            speeds.setdefault(name, []).append(len(tokens) / (time.process_time() - begin))
            recalls[name] = len(found & true) / len(true)
    ours = statistics.median(speeds["winnow"])
    print(f"{len(tokens)} titles, {len(true)} pairs at .8, medians of {options.rounds} rounds")
    for name, values in speeds.items():
        median = statistics.median(values)
        ratio = ours / median
        print(f"{name:28} {median:12,.0f} docs/s  recall {recalls[name]:.4f}  {ratio:.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
