"""What an administrator does to a PostgreSQL: databases and statements, by psql."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from winnow_process import Server

USER = "winnow"


def socket_folder(server: Server) -> Path:
    """Where the private PostgreSQL of a running server listens."""
    (file,) = server.data_dir.rglob("postmaster.pid")
    return Path(file.read_text().splitlines()[4])


@dataclass
class Database:
    sockets: Path
    name: str

    @property
    def url(self) -> str:
        return f"postgres://{USER}@/{self.name}?host={self.sockets}"

    def create(self) -> None:
        Database(self.sockets, "postgres").run(f'CREATE DATABASE "{self.name}"')

    def drop(self) -> None:
        Database(self.sockets, "postgres").run(f'DROP DATABASE "{self.name}" WITH (FORCE)')

    def run(self, statement: str) -> str:
        command = ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-h", str(self.sockets), "-U", USER]
        done = subprocess.run(
            [*command, "-d", self.name, "-At", "-c", statement],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
