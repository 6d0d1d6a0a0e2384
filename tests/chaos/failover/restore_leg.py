"""A dump restored into a new server at the old one's address, while Winnow runs on."""

from __future__ import annotations

import time
from pathlib import Path

from check import compare
from leg import Result
from load import KIND, Load, goes_on
from postgres_admin import USER
from postgres_cluster import PostgresHost
from readers import check_readers
from servers import serving
from winnow_process import Server, connect, run_winnow

import winnow

LOAD_SECONDS = 5.0
REFUSAL_SECONDS = 5.0  # for which nothing may be acknowledged before the operator accepts
DATABASE = "failover"


def run() -> Result:
    result = Result("restore")
    old, new = PostgresHost().initialize().start(), PostgresHost().initialize()
    try:
        old.database().sibling(DATABASE)
        url = f"postgres://{USER}@127.0.0.1:{old.port}/{DATABASE}"
        with serving(url) as servers:
            load = Load([each.address for each in servers], "restore")
            try:
                restore(old, new, servers[0], load, result)
            finally:
                load.end()
            with connect(servers[0].address) as client:
                compare(load, client, lambda sql: new.query(sql, DATABASE), result)
            for server in servers:
                result.failures += check_readers(server, load.namespace)
    finally:
        old.close()
        new.close()
    return result


def restore(
    old: PostgresHost, new: PostgresHost, server: Server, load: Load, result: Result
) -> None:
    """The load asks for writes all the time, except from before the dump until the old server has
    ended: what is acknowledged in between is in no dump."""
    goes_on(load, "writes before the restore", LOAD_SECONDS)
    with load.paused():
        stopped = move_from(old)
    move_to(new, old)
    refuse(server, load, stopped, result)
    moved = time.monotonic()
    accept(server, result)
    accepted = time.monotonic()
    took = goes_on(load, "writes after the restore", LOAD_SECONDS)
    result.notes.append(
        f"dump and restore {moved - stopped - REFUSAL_SECONDS:.1f} s, {REFUSAL_SECONDS:.0f} s"
        f" refused, --accept-system {accepted - moved:.1f} s, then {took:.1f} s until all services"
        " acknowledged writes; the longest time of each service contains all of these"
    )


def dump_of(old: PostgresHost) -> Path:
    return Path(old.folder) / "failover.dump"


def move_from(old: PostgresHost) -> float:
    """Dumps the old server and ends it; returns when that began."""
    began = time.monotonic()
    old.dump(DATABASE, dump_of(old))
    old.stop()
    return began


def move_to(new: PostgresHost, old: PostgresHost) -> None:
    """Serves the dump from the new server at the old one's address."""
    new.port = old.port
    new.start()
    new.restore(dump_of(old), DATABASE)


def refuse(server: Server, load: Load, stopped: float, result: Result) -> None:
    """Until an operator accepts the new system nothing is acknowledged, by any process."""
    until = time.monotonic() + REFUSAL_SECONDS
    with winnow.connect(server.address, timeout=5, retry=winnow.NO_RETRY) as client:
        while time.monotonic() < until:
            try:
                client.polling.register_job(KIND, "refused")
                result.failures.append("a write was acknowledged before --accept-system")
                return
            except winnow.WinnowError as error:
                last = str(error)
    result.notes.append(f"refused until accepted: {last[:120]}")
    early = load.acknowledged_since(stopped)
    if early:
        result.failures.append(f"acknowledged before --accept-system: {', '.join(early)}")


def accept(server: Server, result: Result) -> None:
    config = str(server.folder / "config.json")
    done = run_winnow("migrate", "--accept-system", "--config", config)
    if done.code != 0:
        result.failures.append(f"winnow migrate --accept-system ended with {done.code}: {done.err}")
