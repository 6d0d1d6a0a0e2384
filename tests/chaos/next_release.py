#!/usr/bin/env python3
"""Turns a copy of this tree into a release after it: next_release.py ROOT.

Each schema gets one more migration, as a next release would have: a column, and an index that is
built concurrently. The version's second number goes up by one.
"""

import re
import sys
from pathlib import Path

# A table of each schema that the load of test_upgrade.py writes, or could.
TABLES = {
    "classification": "comments",
    "collector": "items",
    "dedup": "decisions",
    "newsfeed": "news_articles",
    "polling": "jobs",
}
MIGRATION = """\
-- oldest-compatible: {version}
-- transaction: none
ALTER TABLE {schema}.{table} ADD COLUMN IF NOT EXISTS next_note text NOT NULL DEFAULT '';
CREATE INDEX CONCURRENTLY {table}_by_next_note ON {schema}.{table} (next_note)
  WHERE next_note <> '';
"""
VERSION = re.compile(r"(project\(winnow VERSION )(\d+)\.(\d+)\.(\d+)")


def add_migration(service: Path, version: str) -> None:
    number = 1 + max(int(file.name[:4]) for file in (service / "migrations").glob("*.sql"))
    name = f"{number:04}_next_release.sql"
    text = MIGRATION.format(version=version, schema=service.name, table=TABLES[service.name])
    (service / "migrations" / name).write_text(text)
    lists = service / "CMakeLists.txt"
    listed = re.sub(
        rf"(migrations/{number - 1:04}_\w+\.sql)", rf"\1 migrations/{name}", lists.read_text()
    )
    assert name in listed, f"{lists} lists no migration {number - 1}"
    lists.write_text(listed)


def main(root: Path) -> None:
    lists = root / "CMakeLists.txt"
    found = VERSION.search(lists.read_text())
    assert found is not None, f"{lists} has no version"
    major, minor = int(found[2]), int(found[3])
    for schema in TABLES:
        add_migration(root / "services" / schema, f"{major}.{minor}.0")
    lists.write_text(VERSION.sub(rf"\g<1>{major}.{minor + 1}.0", lists.read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
