"""tests/support/llm/fake_llm, the scripted server of language models, as a child process."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from typing import Any

from winnow_process import BINARY


class FakeLlm:
    """Faults are arguments ("length:0.1"). Its exit code says whether a request was bad."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", str(BINARY.parent / "fake_llm"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url.removesuffix("/v1") + path) as answer:
            return json.loads(answer.read())

    def last_body(self) -> Any:
        return self._get("/last")

    def asked(self) -> int:
        """Comments that it was asked about, without the two canaries of each call."""
        stats = self._get("/stats")
        return int(stats["items"]) - 2 * int(stats["calls"])

    def end(self) -> str:
        if self.process.poll() is None:
            self.process.terminate()
        _, complaint = self.process.communicate(timeout=30)
        return complaint
