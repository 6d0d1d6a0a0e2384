"""tools/sql/sql_header.cc: what it makes of statements, and what it refuses."""

import os
import subprocess
from pathlib import Path

import pytest

FOLDER = "services/polling/jobs"


def run(root: Path, text: str, **others: str) -> "subprocess.CompletedProcess[str]":
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, content in {"job": text, **others}.items():
        (root / FOLDER / f"{name}.sql").write_text(content, encoding="utf-8")
    command = [os.environ["WINNOW_SQL_HEADER"], str(root), f"{FOLDER}/job.sql", str(root / "out.h")]
    return subprocess.run(command, capture_output=True, text=True)


def made(root: Path, text: str, **others: str) -> str:
    done = run(root, text, **others)
    assert done.returncode == 0, done.stderr
    return (root / "out.h").read_text(encoding="utf-8")


def test_a_statement_becomes_a_constant_of_its_service(tmp_path: Path) -> None:
    header = made(tmp_path, "-- Reads one.\n-- name: polling.get_job\nSELECT 1\nWHERE TRUE\n")
    assert "namespace winnow::polling::sql {" in header
    assert 'kGetJob{\n    "polling.get_job",\n    R"sql(SELECT 1\nWHERE TRUE)sql"};' in header


def test_fragments_take_arguments_and_use_fragments(tmp_path: Path) -> None:
    header = made(
        tmp_path,
        "-- fragment: leased = 2\n-- fragment: of(key, phase)\n{key} = $1 AND phase = {phase}\n"
        "-- name: polling.a\nSELECT '{}' WHERE {of|j.id|{leased}} LIMIT 1\n"
        "-- name: polling.b\nSELECT 2 {of||3}\n",
    )
    assert "SELECT '{}' WHERE j.id = $1 AND phase = 2\n LIMIT 1" in header
    assert "SELECT 2  = $1 AND phase = 3" in header


def test_fragments_of_another_file(tmp_path: Path) -> None:
    text = f"-- include: {FOLDER}/shared.sql\n-- name: polling.a\nSELECT {{columns}}\n"
    header = made(tmp_path, text, shared="-- fragment: columns\nj.id, j.kind\n")
    assert "SELECT j.id, j.kind" in header


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT 1\n", "line 1 is of no statement"),
        ("-- name: polling.a\nSELECT {columns}\n", "{columns} is not a fragment above it"),
        ("-- fragment: of(key)\n{key}\n-- name: polling.a\n{of}\n", "another number of arguments"),
        ("-- fragment: all\nAND b\n-- name: polling.a\nSELECT $1{all}\n", "needs a space before"),
        ("-- include: services/polling/jobs/none.sql\n", "none.sql cannot be read"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    done = run(tmp_path, text)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{FOLDER}/job.sql: ")
    assert reason in done.stderr
    assert not (tmp_path / "out.h").exists()
