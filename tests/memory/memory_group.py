"""A memory cgroup of a test's own, version 1 or 2: needs root, and a writable mount."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from eventually import eventually

MOUNT = Path("/sys/fs/cgroup")


class MemoryGroup:
    def __init__(self, limit_bytes: int) -> None:
        version_1 = (MOUNT / "memory").is_dir()
        self._mount = MOUNT / "memory" if version_1 else MOUNT
        self._folder = self._mount / f"winnow-memory-{os.getpid()}"
        self._folder.mkdir()
        name = "memory.limit_in_bytes" if version_1 else "memory.max"
        limit = self._folder / name
        assert limit.exists(), f"{limit}: the memory controller is not enabled for new groups"
        limit.write_text(str(limit_bytes))
        self._peak = self._folder / ("memory.max_usage_in_bytes" if version_1 else "memory.peak")

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Processes that are started meanwhile belong to the group, and stay there."""
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        wanted = "memory" if self._mount != MOUNT else ""
        own = next(line.split(":")[2] for line in groups if line.split(":")[1] == wanted)
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self._mount / own.lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))

    def peak_bytes(self) -> int:
        return int(self._peak.read_text())

    def close(self) -> None:
        """Once its processes have ended."""

        def removed() -> bool:
            with contextlib.suppress(OSError):
                self._folder.rmdir()
            return not self._folder.exists()

        eventually(removed, "the memory cgroup is removed")
