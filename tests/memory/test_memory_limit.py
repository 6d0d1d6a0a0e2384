"""A dedup process as a pod of the chart runs it, under a real memory limit, flooded until its
window is full and beyond: it is not killed, and what it uses stays within the limit.

./x chaos memory runs it as root; it needs a writable memory cgroup. WINNOW_MEMORY_LIMIT_MIB (1024)
sizes it. Prints what was reached.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from memory_group import MemoryGroup
from postgres_server import Postgres
from rabbitmq_server import RabbitMq
from winnow_process import Server, metric, new_server, run_winnow

import winnow
from winnow.dedup.v1 import dedup_pb2

LIMIT = int(os.environ.get("WINNOW_MEMORY_LIMIT_MIB", "1024")) << 20
STREAMS = 4
MIB = 1 << 20
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = ["".join(random.Random(seed).choices(LETTERS, k=6)) for seed in range(30_000)]


def documents_of(stream: int, count: int) -> Iterator[winnow.Document]:
    """Titles of nine words and leads of thirty, as of real news; none repeats another."""
    chance = random.Random(stream)
    for number in range(count):
        words = chance.choices(VOCABULARY, k=39)
        yield winnow.Document(
            namespace=f"flood-{stream}",
            id=str(number),
            channel=f"outlet-{number % 50}",
            title=" ".join(words[:9]),
            text=" ".join(words[9:]),
            url=f"https://outlet.example/{stream}/{number}",
        )


class Flood(threading.Thread):
    def __init__(self, server: Server, stream: int, count: int) -> None:
        super().__init__()
        self.failure: BaseException | None = None
        self._run = (server, stream, count)

    def run(self) -> None:
        server, stream, count = self._run
        try:
            with server.connect() as client:
                for _ in client.dedup.ingest_documents(documents_of(stream, count)):
                    pass
        except BaseException as raised:
            self.failure = raised


def memory_of(pid: int, line: str) -> int:
    found = re.search(
        rf"^{line}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE
    )
    assert found
    return int(found[1]) * 1024


def test_a_flooded_process_stays_within_its_memory_limit() -> None:
    postgres, broker, group = Postgres(), RabbitMq(), MemoryGroup(LIMIT)
    config = {
        "postgres": {"url": postgres.new_database("memory").url},
        "events": {"url": broker.url, "password_file": broker.password_file},
        "peers": {"collector": "127.0.0.1:1"},
    }
    server = new_server("memory", config=config, arguments=["--target", "dedup"])
    try:
        flood_within(server, group)
    finally:
        server.close()
        group.close()
        broker.close()
        postgres.close()


def flood_within(server: Server, group: MemoryGroup) -> None:
    server.command()  # writes the configuration's file
    file = str(server.folder / "config.json")
    assert run_winnow("migrate", "--config", file, "--target", "dedup").code == 0
    with group.entered():
        printed = run_winnow("check-config", "--print", "--config", file, "--target", "dedup")
        server.start()
    assert "derived from memory limit" in printed.err
    assert "warning" not in printed.err
    most = int(json.loads(printed.out)["dedup"]["max_documents"])
    # The settings that keep most of a document.
    lowest = winnow.Policy(
        token_threshold=0.5,
        candidate_floor=0.5,
        lead_threshold=0.6,
        rule_mode=dedup_pb2.RULE_MODE_CALIBRATED,
    )
    with server.connect() as client:
        for stream in range(STREAMS):
            client.dedup.update_policy(
                lowest,
                ["token_threshold", "candidate_floor", "lead_threshold", "rule_mode"],
                namespace=f"flood-{stream}",
                request_id=f"lowest-{stream}",
            )
    begun = time.monotonic()
    floods = [Flood(server, stream, int(most * 1.1) // STREAMS) for stream in range(STREAMS)]
    for each in floods:
        each.start()
    for each in floods:
        each.join()
    took = time.monotonic() - begun
    assert [each.failure for each in floods] == [None] * STREAMS
    assert server.process is not None
    assert server.process.poll() is None, server.log
    held = metric(server, "winnow_dedup_window_documents")
    peak = memory_of(server.process.pid, "VmHWM")
    print(
        f"\nlimit {LIMIT // MIB} MiB: {most} documents derived, {held:.0f} held after"
        f" {int(most * 1.1)}; resident at most {peak / MIB:.0f} MiB, the group"
        f" {group.peak_bytes() / MIB:.0f} MiB; {took:.0f} s\n{printed.err}"
    )
    assert metric(server, "winnow_dedup_window_shortened_total") > 0
    assert held > 0.8 * most
    assert peak < 0.9 * LIMIT
