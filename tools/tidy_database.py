"""Writes a compilation database that clang-tidy reads, and prints the files of it to check.

CMake's own names GCC's precompiled headers, which clang refuses. Usage:
tidy_database.py BUILD_DIR OUT_DIR FILE...
"""

import json
import shlex
import sys
from pathlib import Path

# Flags of GCC that clang does not know, and -Werror: clang's warnings are not the build's.
DROPPED = {"-fpch-preprocess", "-Winvalid-pch", "-Werror"}


def without_pch(arguments: list[str], out: Path) -> list[str]:
    """Replaces the precompiled header by a copy of its source, with no compiled one beside it."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "-include":
            header = Path(next(rest))
            copy = out / f"{header.parents[1].name}_{header.name}"
            copy.write_bytes(header.read_bytes())
            kept += ["-include", str(copy.absolute())]
        elif argument not in DROPPED:
            kept.append(argument)
    return kept


def main() -> int:
    build, out, wanted = Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:])
    root = Path.cwd()
    database = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    found = []
    for entry in database:
        entry["arguments"] = without_pch(shlex.split(entry.pop("command")), out)
        path = Path(entry["file"])
        if path.is_relative_to(root) and str(path.relative_to(root)) in wanted:
            found.append(str(path.relative_to(root)))
    (out / "compile_commands.json").write_text(json.dumps(database), encoding="utf-8")
    print("\n".join(sorted(set(found))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
