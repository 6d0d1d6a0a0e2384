"""A real Redis as a child process, for tests in Python."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eventually import eventually


@contextmanager
def redis_server(folder: Path) -> Iterator[Path]:
    """Runs a Redis without persistence in `folder`; yields its Unix socket."""
    socket = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--dir", str(folder)]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command, "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(socket.exists, "Redis listens")
        yield socket
    finally:
        process.kill()
        process.wait()
