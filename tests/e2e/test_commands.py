"""What all commands have in common: words that are none, signals, readers that go away."""

from __future__ import annotations

import os
import subprocess

import pytest
from winnow_process import BINARY, ENVIRONMENT, LIMIT_SECONDS, Server, run_winnow

pytestmark = pytest.mark.one_process("commands, before and while they ask a server")


@pytest.mark.parametrize("group", [[], ["feed"], ["jobs", "policy"]])
def test_an_unknown_command_is_named(group: list[str]) -> None:
    done = run_winnow(*group, "bogus")
    assert done.code == 2
    assert '"bogus"' in done.err
    assert " ".join(["winnow", *group, "--help"]) in done.err
    assert "is required" in run_winnow(*group).err


def test_a_reader_that_goes_away_ends_a_command_quietly(single: Server) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [str(BINARY), "feed", "scroll", "--address", single.address],
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""
