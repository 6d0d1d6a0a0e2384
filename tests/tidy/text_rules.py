"""Rules on lines, words and calls: a table each, so that a new rule is a row."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from source import Finding, Source, code_of, line_of, without_comments

LINE_LIMIT = 100
LINE_LIMITED = {".cc", ".h", ".proto", ".cmake", ".py", ".sh", ".sql", ".java"}
LINE_LIMITED_PATHS = ("x", ".ci/run")
FILE_LIMIT = 400
FILE_LIMIT_IN_TESTS = 600
FILE_LIMITED = {".cc", ".h", ".py", ".sh", ".java", ".cmake"}

# Split so that this file does not hold the words it looks for.
FORBIDDEN = (
    (r"/(work|root|farm)/", "a path of one machine"),
    (r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "work put off: do it, or file it"),
    (r"\b(debian|pypi|pythonhosted|npmjs|golang)\.org\b|\brepo1?\.maven\b", "a host"),
)

# Idioms that readers have to decode, in texts that callers and operators see.
UNCLEAR_IN_MESSAGES = re.compile(
    r"\b(tells?|told|mend\w*|(?<!there )(is|are) no (?!longer\b)[a-z]\w*|as may"
    r"|said aloud|who waits|(went|is|was) away|goes? on trying|is back)\b"
)
# The same in comments and documents.
IDIOMS = re.compile(
    r"\b([Tt]ells?|[Tt]old|[Mm]end(s|ed|ing)?|said aloud|who waits?|[Ww]hoever"
    r"|(?<![Tt]here )(is|are) no (?!longer\b|more\b|[a-z]+er\b)[a-z]+)\b"
)
IDIOM_SUFFIXES = {".cc", ".h", ".java", ".md", ".proto", ".py", ".sh", ".yaml"}
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


class Call(NamedTuple):
    pattern: str
    message: str
    applies: Callable[[str], bool]


def everywhere(_: str) -> bool:
    return True


def may_not_sleep(path: str) -> bool:
    # The polling helper of tests, and a server process whose state only polling tells.
    return not path.startswith(("tests/support/", "services/platform/postgres/server/"))


def in_services(path: str) -> bool:
    return path.startswith("services/")


def in_libraries(path: str) -> bool:
    return in_services(path) and not path.startswith("services/app/")


def in_a_service(path: str) -> bool:
    return in_services(path) and not path.startswith(("services/app/", "services/platform/"))


def owns_by_value(path: str) -> bool:
    # gRPC's callback reactors delete themselves: there is no other way to own one.
    return in_services(path) and not path.startswith("services/platform/grpc/")


def joins_threads(path: str) -> bool:
    # Connecting by libpq, librabbitmq and the resolver cannot be ended from outside; its thread
    # owns all that it uses.
    return path != "services/platform/process/unless_stopped.h"


def in_header(path: str) -> bool:
    return path.endswith(".h")


CPP_CALLS = (
  Call(r"\b(sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\b|(?<![\w.:>])sleep\s*\(",
       "wait for a condition with a deadline instead", may_not_sleep),
  Call(r"\bstd::(cout|cerr|clog)\b|\b(f?printf|puts|putchar)\s*\(",
       "log through services/platform/process/log.h, or print in app", in_libraries),
  Call(r"\bnew\s+[A-Za-z_:]", "own by value, std::make_unique or std::vector", owns_by_value),
  Call(r"\bdelete\b\s*(\[\s*\])?\s*[A-Za-z_*(]", "own by value or std::unique_ptr", owns_by_value),
  Call(r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof|rand|srand|tmpnam|system)"
       r"\s*\(", "unsafe: use the std:: function with bounds and errors", in_services),
  Call(r"\bstd::regex\b", "backtracks without bound on input: write the scan", in_services),
  Call(r"\.detach\s*\(\s*\)", "a thread nobody joins outlives what it uses", joins_threads),
  Call(r"\bcatch\s*\([^)]*\)\s*\{\s*\}",
       "an error swallowed: handle it or let it pass", everywhere),
  Call(r"\bsystem_clock\s*::\s*now\b", "take the time from winnow::Clock", in_a_service),
  Call(r"\bwinnow::testing\b", "helpers of tests live in winnow::test: testing:: is GoogleTest's",
       everywhere),
  Call(r"\busing\s+namespace\b", "a header must not open a namespace for others", in_header),
)  # fmt: skip

# `= delete` and `delete this` are no ownership, a static that is never destroyed is meant, and a
# private constructor is out of make_unique's reach.
OWNED = re.compile(
    r"\bdelete\s+this\b|=\s*delete\b|\bstatic\b[^;\n]*\bnew\b"
    r"|\bunique_ptr<[^;\n]*>( \w+)?\(\s*new\b"
)

PYTHON_CALLS = (
    Call(
        r"\btime\.sleep\s*\(",
        "wait for a condition with a deadline instead",
        lambda path: path.startswith("tests/") and may_not_sleep(path),
    ),
    Call(r"^\s*except(\s+Exception)?\s*:\s*(\n\s*)?pass\b", "an error swallowed", everywhere),
)


def check_lines(source: Source) -> Iterator[Finding]:
    name = source.path.rsplit("/", 1)[-1]
    limited = (
        source.suffix in LINE_LIMITED
        or source.path in LINE_LIMITED_PATHS
        or name == "CMakeLists.txt"
    )
    for number, line in enumerate(source.text.split("\n"), 1):
        # An address cannot be broken, and an rpc stands on one line, as buf formats it.
        unbreakable = "://" in line or (source.suffix == ".proto" and line.startswith("  rpc "))
        if limited and len(line) > LINE_LIMIT and not unbreakable:
            message = f"{len(line)} columns, the limit is {LINE_LIMIT}"
            yield Finding(source.path, number, "line-length", message)
        if line != line.rstrip():
            yield Finding(source.path, number, "whitespace", "ends in white space")
        if "\t" in line:
            yield Finding(source.path, number, "whitespace", "has a tab")


def check_file(source: Source) -> Iterator[Finding]:
    lines = len(source.lines())
    limit = FILE_LIMIT_IN_TESTS if source.is_test else FILE_LIMIT
    if source.suffix in FILE_LIMITED and lines > limit:
        message = f"{lines} lines, the limit is {limit}: which two files is it?"
        yield Finding(source.path, lines, "file-length", message)
    if source.text and not source.text.endswith("\n"):
        yield Finding(source.path, lines, "whitespace", "no line break at the end")
    if source.is_cpp and not re.fullmatch(r"[a-z0-9_]+\.(h|cc)", source.path.rsplit("/", 1)[-1]):
        yield Finding(source.path, 1, "file-name", "files are named in snake_case")
    if source.suffix == ".h" and not re.match(r"(//[^\n]*\n|\s)*#pragma once\n", source.text):
        yield Finding(source.path, 1, "pragma-once", "a header begins with #pragma once")


def check_words(source: Source) -> Iterator[Finding]:
    for pattern, message in FORBIDDEN:
        for match in re.finditer(pattern, source.text):
            line = line_of(source.text, match.start())
            yield Finding(source.path, line, "words", f"'{match.group()}': {message}")


def check_messages(source: Source) -> Iterator[Finding]:
    """Strings of the server and the command line; SQL has no such words either."""
    if not (source.is_cpp and in_services(source.path)):
        return
    text = without_comments(source.text)
    for string in STRING.finditer(text):
        for match in UNCLEAR_IN_MESSAGES.finditer(string.group()):
            line = line_of(text, string.start())
            message = f"'{match.group()}': say it in plain technical English"
            yield Finding(source.path, line, "message", message)


def check_idioms(source: Source) -> Iterator[Finding]:
    """Comments and documents; CHANGELOG.md quotes what was, and stays."""
    if source.suffix not in IDIOM_SUFFIXES:
        return
    if source.path == "CHANGELOG.md" or source.path.startswith("tests/tidy/"):
        return
    for number, text in enumerate(source.text.split("\n"), 1):
        # Strings of C++ are messages, above.
        checked = text.partition("//")[2] if source.is_cpp else text
        for match in IDIOMS.finditer(checked):
            message = f"'{match.group()}': say it in plain technical English"
            yield Finding(source.path, number, "idiom", message)


def matches(source: Source, code: str, calls: tuple[Call, ...]) -> Iterator[Finding]:
    for call in calls:
        if not call.applies(source.path):
            continue
        for match in re.finditer(call.pattern, code, re.MULTILINE):
            name = " ".join(match.group().split())
            yield Finding(
                source.path, line_of(code, match.start()), "call", f"{name}: {call.message}"
            )


def check_calls(source: Source) -> Iterator[Finding]:
    if source.is_cpp:
        code = code_of(source.text)
        code = OWNED.sub(" ", code)
        yield from matches(source, code, CPP_CALLS)
        yield from check_skips(source)
    elif source.suffix == ".py":
        yield from matches(source, source.text, PYTHON_CALLS)


def check_skips(source: Source) -> Iterator[Finding]:
    """Only a test that reads a folder of real data may be skipped: where there is none."""
    for match in re.finditer(r"\bGTEST_SKIP\b|\bDISABLED_", source.text):
        if "WINNOW_DATA" not in source.text:
            line = line_of(source.text, match.start())
            yield Finding(source.path, line, "skip", "a skipped test is a failed test")
    for match in re.finditer(r"//\s*NOLINT(?!\w*\([\w,.* -]+\): \w)", source.text):
        line = line_of(source.text, match.start())
        yield Finding(source.path, line, "skip", "write NOLINT(check): why")


def check_sql(source: Source) -> Iterator[Finding]:
    if source.suffix not in {".cc", ".h", ".sql", ".py"}:
        return
    text = without_comments(source.text) if source.is_cpp else source.text
    if source.suffix == ".sql":
        text = re.sub(r"--[^\n]*", "", text)
    for match in re.finditer(r"\bSELECT\s+(\w+\.)?\*", text, re.IGNORECASE):
        line = line_of(text, match.start())
        yield Finding(source.path, line, "sql", "name the columns: a migration may add one")


CHECKS = (
    check_lines,
    check_file,
    check_words,
    check_messages,
    check_idioms,
    check_calls,
    check_sql,
)


def check(source: Source) -> Iterator[Finding]:
    for rule in CHECKS:
        yield from rule(source)
