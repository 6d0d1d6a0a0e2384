"""A process with few file descriptors, and more bare TCP connections than it has descriptors."""

from __future__ import annotations

import re
import socket
import time
from dataclasses import dataclass

from check import compare
from eventually import eventually
from leg import Result
from load import Load, goes_on_for
from postgres_server import Postgres
from servers import migrate
from winnow_process import Server, connect, world_folder

DESCRIPTORS = 200
CONNECTIONS = 400
# How far above the minimum that a process of all targets names, where 200 are fewer than that.
ABOVE_MINIMUM = 50
LOAD_SECONDS = 5.0


@dataclass
class LimitedServer(Server):
    descriptors: int = DESCRIPTORS

    def command(self) -> list[str]:
        return ["prlimit", f"--nofile={self.descriptors}:{self.descriptors}", *super().command()]


def run() -> Result:
    result = Result("descriptors")
    postgres = Postgres()
    database = postgres.new_database("failover")
    config = {"postgres": {"url": database.url}}
    server = LimitedServer(folder=world_folder("failover-descriptors"), config=config)
    try:
        migrate(server)
        start(server, result)
        load = Load([server.address], "descriptors")
        try:
            flood(server, load)
        except AssertionError as error:
            result.failures.append(f"{error}; {load.waits_for()}")
        load.end()
        with connect(server.address, timeout=30) as client:
            compare(load, client, database.run, result)
    finally:
        server.close()
        postgres.close()
    return result


def start(server: LimitedServer, result: Result) -> None:
    """With DESCRIPTORS, or ABOVE_MINIMUM more than the minimum that the refusal to start names."""
    server.launch()
    assert server.process is not None
    try:
        server.await_ready()
        result.notes.append(f"serves with {DESCRIPTORS} descriptors")
        return
    except AssertionError:
        found = [int(each) for each in re.findall(r"\b\d{2,6}\b", server.log.splitlines()[-1])]
    minimum = max((each for each in found if each != DESCRIPTORS), default=0)
    assert DESCRIPTORS < minimum < 100_000, f"no minimum is named: {server.log[-500:]}"
    result.notes.append(
        f"refuses to start with {DESCRIPTORS} descriptors, names {minimum} as the minimum;"
        f" run with {minimum + ABOVE_MINIMUM}"
    )
    server.descriptors = minimum + ABOVE_MINIMUM
    server.start()


def flood(server: LimitedServer, load: Load) -> None:
    """Twice as many connections as descriptors, opened at once, closed, and the port lives."""
    count = max(CONNECTIONS, 2 * server.descriptors)
    host, _, port = server.address.rpartition(":")
    began = time.monotonic()
    eventually(lambda: load.acknowledges(began), "writes before the flood", seconds=60)
    opened = []
    for _ in range(count):
        one = socket.socket()
        one.settimeout(2)
        opened.append(one)
        if one.connect_ex((host, int(port))) not in (0, 11, 110, 111):
            break
    for one in opened:
        one.close()
    ended = time.monotonic()
    with connect(server.address, timeout=60) as fresh:  # a new connection, not one from before
        fresh.polling.get_stats()
    eventually(lambda: load.acknowledges(ended), "writes after the flood", seconds=60)
    goes_on_for(LOAD_SECONDS, ended)
