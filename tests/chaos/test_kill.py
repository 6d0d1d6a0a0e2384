"""kill -9 at random points of an import: each item ends in exactly one place.

WINNOW_CHAOS_KILLS sets how many kills there are (5), WINNOW_CHAOS_SEED what they are drawn from.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from eventually import eventually
from winnow_process import BINARY, ENVIRONMENT, Server, postmaster_pid
from world import NAMESPACE, check_places, make_world

import winnow

KILLS = int(os.environ.get("WINNOW_CHAOS_KILLS", "5"))
SEED = int(os.environ.get("WINNOW_CHAOS_SEED", "20260201"))


class Import:
    """`winnow import` as a process that may be killed and begun again."""

    def __init__(self, server: Server, path: Path) -> None:
        self._server = server
        self._path = path
        self._process: subprocess.Popen[bytes] | None = None
        self.begin()

    def begin(self) -> None:
        environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(self._server.folder / "state")}
        command = [str(BINARY), "import", str(self._path), "--namespace", NAMESPACE, "--json"]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command, "--address", self._server.address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(self._server.folder / "import.log").open("ab"),
            env=environment,
        )

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def ended(self) -> bool:
        assert self._process is not None
        return self._process.poll() is not None

    def finish(self) -> dict[str, int]:
        assert self._process is not None
        out, _ = self._process.communicate(timeout=300)
        assert self._process.returncode == 0, (self._server.folder / "import.log").read_text()
        report: dict[str, int] = json.loads(out)
        return report


def stored_count(server: Server) -> int:
    """How many items are stored; 0 while the server cannot answer."""
    try:
        with server.connect(timeout=10.0, retry=winnow.NO_RETRY) as client:
            items = client.collector.items(namespace=NAMESPACE, page_size=1000)
            return sum(1 for _ in items)
    except winnow.WinnowError:
        return 0


def assert_adds_up(report: dict[str, int], lines: int) -> None:
    assert report["lines"] == lines
    assert report["refused"] == report["undecided"] == 0
    decided = report["accepted"] + report["duplicates"]
    assert report["lines"] == report["already_present"] + decided


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def kill_one(chance: random.Random, server: Server, running: Import) -> None:
    if chance.random() < 0.3:
        running.kill()
        running.begin()
        return
    server.kill()
    server.start()  # on the same port, where a running import looks for it
    if running.ended():
        running.begin()


def test_kills_lose_nothing_and_double_nothing(
    make_server: Callable[..., Server], tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    world = make_world(chance)
    server = make_server().start()
    parts = [world.lines[number::KILLS] for number in range(KILLS)]
    for number, part in enumerate(parts):
        before = stored_count(server)
        running = Import(server, write_lines(tmp_path / f"part-{number}.jsonl", part))
        wanted = before + chance.randrange(len(part) * 9 // 10)

        def is_time(running: Import = running, wanted: int = wanted) -> bool:
            return running.ended() or stored_count(server) >= wanted

        eventually(is_time, f"{wanted} items are stored, for kill {number} of seed {SEED}")
        kill_one(chance, server, running)
        assert_adds_up(running.finish(), len(part))
    with server.connect() as client:
        check_places(client, world)
    assert server.stop() == 0


def test_a_kill_of_its_postgresql_is_mended_and_loses_nothing(
    make_server: Callable[..., Server], tmp_path: Path
) -> None:
    world = make_world(random.Random(SEED + 1))
    server = make_server().start()
    running = Import(server, write_lines(tmp_path / "items.jsonl", world.lines))
    eventually(lambda: stored_count(server) > 0, "some items are stored")
    postmaster = postmaster_pid(server)
    assert postmaster is not None
    os.kill(postmaster, signal.SIGKILL)
    assert_adds_up(running.finish(), len(world.lines))
    with server.connect() as client:
        check_places(client, world)
    assert server.stop() == 0
