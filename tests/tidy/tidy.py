"""Judges the whole tree by the project's own rules. Usage: tidy.py ROOT."""

import sys
from collections.abc import Iterator
from pathlib import Path

import functions
import includes
import layout
import migrations
import text_rules
from source import Finding, Source, walk

# Bad samples on purpose, and texts that are not ours to shape.
EXEMPT = ("tests/tidy/test_tidy.py", "LICENSE")
# Data: judged by words only.
DATA = ("samples/",)


def judge(source: Source) -> Iterator[Finding]:
    if source.path in EXEMPT:
        return
    if source.path.startswith(DATA):
        yield from text_rules.check_words(source)
        return
    for rules in (text_rules, includes, layout, functions, migrations):
        yield from rules.check(source)


def judge_tree(root: Path) -> Iterator[Finding]:
    paths = list(walk(root))
    yield from layout.check_tree(paths)
    for path in paths:
        try:
            text = (root / path).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            yield Finding(path, 1, "utf-8", "is not UTF-8")
            continue
        yield from judge(Source(path, text))


def main() -> int:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("usage: tidy.py ROOT", file=sys.stderr)
        return 2
    findings = sorted(judge_tree(Path(sys.argv[1])))
    for finding in findings:
        print(finding)
    print(f"tidy: {len(findings)} findings" if findings else "tidy: clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
