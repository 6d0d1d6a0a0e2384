"""Files as the rules see them: which there are, and C++ with its comments and strings blanked."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# What tools and builds leave beside the sources.
SKIPPED_FOLDERS = {"build", "target", "node_modules", "__pycache__"}
KEPT_HIDDEN = {".ci", ".clang-format", ".clang-tidy", ".gitignore"}
BINARY_SUFFIXES = {".gz", ".png", ".jar", ".zst", ".bin", ".pb"}


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class Source:
    path: str  # relative to the root, with "/"
    text: str

    @property
    def suffix(self) -> str:
        return Path(self.path).suffix

    @property
    def is_cpp(self) -> bool:
        return self.suffix in {".h", ".cc"}

    @property
    def is_test(self) -> bool:
        return self.path.startswith("tests/") or "/tests/" in self.path

    def lines(self) -> list[str]:
        return self.text.splitlines()


def walk(root: Path) -> Iterator[str]:
    """Every file of the project, without asking git: a tarball is judged as well."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and not name.endswith(".egg-info")
            and (not name.startswith(".") or name in KEPT_HIDDEN)
        )
        for name in sorted(files):
            if (not name.startswith(".") or name in KEPT_HIDDEN) and Path(
                name
            ).suffix not in BINARY_SUFFIXES:
                yield (Path(folder) / name).relative_to(root).as_posix()


TOKEN = re.compile(
    r"""
    //[^\n]* | /\*.*?\*/                                       # comments
  | R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"                 # raw strings
  | (?<![0-9A-Fa-f])'(?:\\.[^']*|[^'\\\n])' | "(?:\\.|[^"\\\n])*"  # characters, strings
  """,
    re.VERBOSE | re.DOTALL,
)


def blank(text: str) -> str:
    """The text as spaces, its line breaks kept."""
    return re.sub(r"[^\n]", " ", text)


def code_of(text: str) -> str:
    """C++ with comments and the insides of strings blanked, at unchanged positions."""

    def replace(match: re.Match[str]) -> str:
        token = match.group()
        if token.startswith("/"):
            return blank(token)
        return token[0] + blank(token[1:-1]) + token[-1] if token[0] != "R" else blank(token)

    return TOKEN.sub(replace, text)


def without_comments(text: str) -> str:
    """C++ with its comments blanked and its strings kept: where SQL is looked for."""
    return TOKEN.sub(lambda m: blank(m.group()) if m.group().startswith("/") else m.group(), text)


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
