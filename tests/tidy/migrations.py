"""Migrations must not break or block the release before (CONTRIBUTING.md, "Migrations")."""

import re
from collections.abc import Iterator

from source import Finding, Source, line_of

PATH = re.compile(r"services/(?:platform/)?(\w+)/(?:\w+/)*migrations/(\d{4})_\w+\.sql")

# Written before the first release, on tables that nobody had filled: a build of an index there is
# not worth a migration without a transaction.
BEFORE_RELEASES = {"classification": 5, "collector": 6, "dedup": 5, "newsfeed": 10, "polling": 3}

OLDEST = re.compile(r"^-- oldest-compatible: (0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$")
DECLARATION = re.compile(r"^-- (oldest-compatible|transaction|former-checksum|contract): .+$")

# (pattern, what to do instead). `table` is what the statement is about, where it matters.
TAKES_AWAY = (
    r"\bRENAME\b|\bDROP\s+(COLUMN|TABLE|VIEW|FUNCTION|TRIGGER|SEQUENCE)\b|\bALTER\s+COLUMN\s+\w+\s+"
    r"(SET\s+DATA\s+)?TYPE\b|\bDROP\s+DEFAULT\b"
)
INDEX = re.compile(
    r"\bCREATE\s+(UNIQUE\s+)?INDEX\s+(?P<how>CONCURRENTLY\s+)?(?P<name>\w+\s+)?ON\s+(ONLY\s+)?"
    r"(?P<table>[\w.]+)",
    re.IGNORECASE,
)
CREATED = re.compile(r"\bCREATE\s+TABLE\s+(IF\s+NOT\s+EXISTS\s+)?([\w.]+)", re.IGNORECASE)
# Each reads the whole table under a lock that stops writers, or all.
SCANS = re.compile(
    r"\bALTER\s+TABLE\s+(?P<table>[\w.]+)[^;]*?(?P<what>"
    r"\bADD\s+(CONSTRAINT\s+\w+\s+)?(CHECK|FOREIGN\s+KEY)\b(?![^;]*\bNOT\s+VALID\b)"
    r"|\bADD\s+(CONSTRAINT\s+\w+\s+)?(UNIQUE|PRIMARY\s+KEY)\b(?!\s+USING\s+INDEX\b)"
    r"|\bSET\s+NOT\s+NULL\b)",
    re.IGNORECASE,
)


def declarations(text: str) -> list[str]:
    """The lines at the top of a file that declare something."""
    found = []
    for line in text.splitlines():
        if not DECLARATION.match(line):
            break
        found.append(line)
    return found


def without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*", lambda match: " " * len(match.group()), text)


def check_declarations(source: Source) -> Iterator[Finding]:
    top = declarations(source.text)
    if sum(1 for line in top if OLDEST.match(line)) != 1:
        message = "begin with -- oldest-compatible: X.Y.Z, the oldest binary that works after it"
        yield Finding(source.path, 1, "migration", message)
    match = re.search(TAKES_AWAY, without_comments(source.text), re.IGNORECASE)
    if match and not any(line.startswith("-- contract: ") for line in top):
        message = (
            f"{' '.join(match.group().split())}: running processes may use it; expand first, and"
            " take it away a release later with -- contract: what, and since when nobody uses it"
        )
        yield Finding(source.path, line_of(source.text, match.start()), "migration", message)


def check_locks(source: Source) -> Iterator[Finding]:
    sql = without_comments(source.text)
    created = {match[2].lower() for match in CREATED.finditer(sql)}
    for match in INDEX.finditer(sql):
        if match["how"] is None and match["table"].lower() not in created:
            message = "an index of an existing table is built CONCURRENTLY, -- transaction: none"
            yield Finding(source.path, line_of(sql, match.start()), "migration", message)
    for match in SCANS.finditer(sql):
        if match["table"].lower() not in created:
            message = (
                f"{' '.join(match['what'].split())} reads the table under a lock: NOT VALID and"
                " VALIDATE in a later file, or USING INDEX of one that was built CONCURRENTLY"
            )
            yield Finding(source.path, line_of(sql, match.start()), "migration", message)


def check_concurrently(source: Source) -> Iterator[Finding]:
    sql = without_comments(source.text)
    alone = "-- transaction: none" in declarations(source.text)
    for match in re.finditer(r"\bCONCURRENTLY\b", sql, re.IGNORECASE):
        if not alone:
            message = "CONCURRENTLY needs -- transaction: none"
            yield Finding(source.path, line_of(sql, match.start()), "migration", message)
    for match in re.finditer(r"\bDROP\s+INDEX\s+CONCURRENTLY\s+(?!IF\s+EXISTS\b)", sql):
        message = "a statement without a transaction may run again: IF EXISTS"
        yield Finding(source.path, line_of(sql, match.start()), "migration", message)


def check(source: Source) -> Iterator[Finding]:
    match = PATH.fullmatch(source.path)
    if match is None:
        return
    yield from check_declarations(source)
    yield from check_concurrently(source)
    if int(match[2]) > BEFORE_RELEASES.get(match[1], 0):
        yield from check_locks(source)
