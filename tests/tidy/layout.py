"""Where files are: bounded folders, classes in their files, code with its header, tests by room."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from rooms import CLASS_EXCEPTIONS, MAX_FILES, SERVICES
from source import Finding, Source, code_of

LIMITED = ("services/", "tests/unit/", "tests/integration/")
TYPE = re.compile(
    r"^(?:template <[^\n]*>\n)?(?P<kind>class|struct|enum class) (?:\[\[\w+\]\] )?(?P<name>\w+)"
    r"(?: final)?(?:\s*:[^;{]*)?\s*\{",
    re.MULTILINE,
)
# Code without a header of its own: main, and the commands, which commands/command.h declares.
HEADERLESS = ("services/app/main.cc", "services/app/commands/")
GENERIC_NAMES = {"Worker", "Store", "Batch", "Lane"}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def check(source: Source) -> Iterator[Finding]:
    """A header with a class has a type of the file's name; no type has a name of a role alone."""
    if not source.is_cpp or not source.path.startswith(("services/", "tests/", "tools/")):
        return
    code = code_of(source.text)
    for match in re.finditer(r"\b(?:class|struct) (\w+)[^;(){}]*\{", code):
        if match[1] in GENERIC_NAMES:
            line = code.count("\n", 0, match.start()) + 1
            yield Finding(source.path, line, "name", f"{match[1]} says too little: of what?")
    if source.suffix != ".h" or not source.path.startswith("services/"):
        return
    types = list(TYPE.finditer(code))
    stem = PurePosixPath(source.path).stem
    has_class = any(match["kind"] == "class" for match in types)
    is_named = stem in {snake(match["name"]) for match in types}
    if has_class and not is_named and source.path not in CLASS_EXCEPTIONS:
        names = ", ".join(match["name"] for match in types if match["kind"] == "class")
        yield Finding(source.path, 1, "layout", f"{names} belongs in a file of that name")


def header_of(path: str, headers: set[str]) -> str | None:
    """The header that a .cc implements: of its own name, or of a beginning of it in words."""
    folder, stem = str(PurePosixPath(path).parent), PurePosixPath(path).stem
    words = stem.split("_")
    for count in range(len(words), 0, -1):
        header = f"{folder}/{'_'.join(words[:count])}.h"
        if header in headers:
            return header
    return None


def check_tree(paths: Iterable[str]) -> Iterator[Finding]:
    files = sorted(paths)
    counts = Counter(str(PurePosixPath(path).parent) for path in files)
    for folder, count in counts.items():
        if f"{folder}/".startswith(LIMITED) and count > MAX_FILES:
            message = f"has {count} files, the limit is {MAX_FILES}"
            yield Finding(folder, 1, "layout", message)
    headers = {path for path in files if path.endswith(".h")}
    for path in files:
        is_code = path.startswith("services/") and path.endswith(".cc")
        if is_code and not path.startswith(HEADERLESS) and header_of(path, headers) is None:
            yield Finding(path, 1, "layout", "has no header of its name or of its beginning")
    yield from check_tests(files)


def check_tests(files: list[str]) -> Iterator[Finding]:
    """tests/unit/<service>/<room>/ and tests/integration/<service>/ are folders of services/."""
    rooms = {
        f"{service}/{room}".rstrip("/") for service, rooms in SERVICES.items() for room in rooms
    }
    tops = {"/".join(room.split("/")[:2]) for room in rooms} | set(SERVICES)
    for path in files:
        match = re.fullmatch(r"tests/(unit|integration)/(.+)/\w+_test\.cc", path)
        known = rooms if match and match[1] == "unit" else tops
        if match and match[2] not in known:
            yield Finding(path, 1, "layout", f"{match[2]} is no room of services/")
        elif match is None and re.fullmatch(r"tests/(unit|integration)/\w+\.(h|cc)", path):
            yield Finding(path, 1, "layout", "belongs into the folder of what it tests")
