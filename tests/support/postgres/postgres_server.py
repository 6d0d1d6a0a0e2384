"""A PostgreSQL that several Winnow processes share, as in production: a child process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from eventually import eventually
from postgres_admin import USER, Database
from winnow_process import world_folder


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "PostgreSQL is not installed"
    return found[-1].parent


class Postgres:
    """Listens on a Unix socket in a folder of its own; close() ends it."""

    def __init__(self) -> None:
        self.folder = world_folder("postgres")
        data = self.folder / "data"
        # It refuses root.
        drop: list[str] = []
        if os.getuid() == 0:
            drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(self.folder, "postgres", "postgres")
        initdb = [str(_programs() / "initdb"), "-D", str(data), "-U", USER, "-A", "trust"]
        subprocess.run(
            [*drop, *initdb, "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd="/",
        )
        settings = {
            "unix_socket_directories": self.folder,
            "listen_addresses": "",
            "max_connections": 300,
        }
        options = [part for item in settings.items() for part in ("-c", f"{item[0]}={item[1]}")]
        # Should this suite be killed, the kernel ends it.
        prefix = [*drop, "setpriv", "--pdeathsig", "INT"]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*prefix, str(_programs() / "postgres"), "-D", str(data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
            )
        ready = [str(_programs() / "pg_isready"), "-q", "-h", str(self.folder), "-U", USER]
        eventually(
            lambda: subprocess.run(ready, check=False).returncode == 0,
            "PostgreSQL is ready",
            unless=self._why_not,
        )

    def _why_not(self) -> str | None:
        code = self._process.poll()
        log = self.folder / "log"
        return None if code is None else f"it ended with {code}:\n{log.read_text()}"

    def new_database(self, name: str) -> Database:
        return Database(self.folder, "postgres").sibling(name)

    def close(self) -> None:
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(timeout=180)
        shutil.rmtree(self.folder, ignore_errors=True)
