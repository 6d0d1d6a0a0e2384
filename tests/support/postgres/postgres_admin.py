"""What an administrator does to a PostgreSQL: databases and statements, by psql."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

USER = "winnow"


@dataclass
class Database:
    """One, on the PostgreSQL that listens in the folder `sockets`."""

    sockets: Path
    name: str
    port: int = 5432

    @property
    def url(self) -> str:
        return f"postgres://{USER}@/{self.name}?host={self.sockets}&port={self.port}"

    def sibling(self, name: str) -> Database:
        """An empty database on the same PostgreSQL, as an administrator gives one."""
        made = Database(self.sockets, name, self.port)
        made.create()
        return made

    def create(self) -> None:
        Database(self.sockets, "postgres", self.port).run(f'CREATE DATABASE "{self.name}"')

    def drop(self) -> None:
        Database(self.sockets, "postgres", self.port).run(
            f'DROP DATABASE "{self.name}" WITH (FORCE)'
        )

    def _psql(self) -> list[str]:
        command = ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-h", str(self.sockets)]
        return [*command, "-p", str(self.port), "-U", USER, "-d", self.name, "-At"]

    @contextlib.contextmanager
    def holding(self, statement: str) -> Iterator[None]:
        """Has run the statement on a connection that stays until the block ends."""
        pipe = subprocess.PIPE
        with subprocess.Popen(self._psql(), stdin=pipe, stdout=pipe, text=True) as session:
            assert session.stdin is not None
            assert session.stdout is not None
            session.stdin.write(f"{statement};\n\\echo held\n")
            session.stdin.flush()
            assert any(line == "held\n" for line in session.stdout), "psql ended"
            yield  # closing its input ends it

    def run(self, statement: str) -> str:
        return self._finish([*self._psql(), "-c", statement], "")

    def load(self, script: str) -> None:
        """Runs a script, as pg_dump writes one."""
        self._finish([*self._psql(), "-q", "-f", "-"], script)

    def _finish(self, command: list[str], script: str) -> str:
        done = subprocess.run(
            command,
            input=script,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
