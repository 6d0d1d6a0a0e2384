"""Commands to the Redis of a test."""

from __future__ import annotations

import subprocess
from pathlib import Path


def redis(socket: Path, *command: str, stdin: str = "") -> str:
    """What redis-cli prints. Without a command, those of `stdin` are run, one a line."""
    done = subprocess.run(
        ["redis-cli", "-s", str(socket), *command],
        input=stdin.encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout.decode()
