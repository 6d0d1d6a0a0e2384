"""The embedded classifier beside word-SVM and character-SVM, in one run on the same folds.

    WINNOW_DATA=../shared/data python3 tests/bench/classification/classify_peers.py \\
        [--build build/release]

Ours: train_comment_model, into a folder that is thrown away; its figures are of int8 weights and of
thresholds from the other folds. Peers: TF-IDF and a linear SVM (scikit-learn) on the same examples,
folds by hash of the normalised text; word n-grams of 1 to 2, character n-grams of 1 to 5 within
words. Macro-F1 over all five folds together.

Peers are for this alone: they live in an environment of their own (.cache/bench-peers), made here
from tools/requirements-bench.txt.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / ".cache" / "bench-peers"
MODEL = ROOT / "services" / "classification" / "model" / "data"


def enter_environment() -> None:
    python = HOME / "bin" / "python"
    if Path(sys.prefix) == HOME:
        return
    if not python.exists():
        venv.create(HOME, with_pip=True)
    wanted = ROOT / "tools" / "requirements-bench.txt"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", wanted], check=True)
    os.execv(python, [str(python), *sys.argv])


def ours(build: Path, data: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("suggestions.txt", "suggestions.md"):
            shutil.copy(MODEL / name, folder)
        command = [build / "bin" / "train_comment_model", data, folder]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(value) for name, value in re.findall(r"(\w+)\s+macro-F1 (\S+)", out)}


def peer(examples: list[dict[str, Any]], analyzer: str, ngrams: tuple[int, int]) -> float:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics import f1_score
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    truth: list[bool] = []
    said: list[bool] = []
    for fold in range(5):
        learn = [each for each in examples if each["fold"] != fold]
        judge = [each for each in examples if each["fold"] == fold]
        features = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True)
        model = make_pipeline(features, LinearSVC())
        model.fit([each["text"] for each in learn], [each["positive"] for each in learn])
        said += list(model.predict([each["text"] for each in judge]))
        truth += [each["positive"] for each in judge]
    return float(f1_score(truth, said, average="macro"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    enter_environment()
    data = Path(os.environ.get("WINNOW_DATA", ROOT.parent / "shared" / "data")) / "comments"
    dump = subprocess.run(
        [arguments.build / "bin" / "classify_examples", data],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    heads: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in dump.splitlines():
        example = json.loads(line)
        heads[example["head"]].append(example)
    figures = ours(arguments.build, data)
    print("| head | examples | embedded | word-SVM | character-SVM |\n|---|---|---|---|---|")
    for head, examples in heads.items():
        words = peer(examples, "word", (1, 2))
        characters = peer(examples, "char_wb", (1, 5))
        figure = figures[head]
        print(f"| `{head}` | {len(examples)} | {figure:.3f} | {words:.3f} | {characters:.3f} |")


if __name__ == "__main__":
    main()
