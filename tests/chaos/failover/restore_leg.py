"""A dump restored into a new server at the old one's address, while Winnow runs on."""

from __future__ import annotations

import time
from pathlib import Path

from check import compare
from eventually import eventually
from leg import SERVICES, Result
from load import KIND, Load, goes_on_for
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
            addresses = [each.address for each in servers]
            before = loaded(addresses, "before")
            stopped = move(old, new)
            refuse(servers[0], result)
            accept(servers[0], result)
            after = loaded(addresses, "after")
            result.notes.append(
                f"unavailable from the dump on: dump, restore, {REFUSAL_SECONDS:.0f} s without"
                " --accept-system, and the time until the services noticed it"
            )
            with connect(servers[0].address) as client:
                for load in (before, after):
                    compare(load, client, lambda sql: new.query(sql, DATABASE), result)
            for service in SERVICES:
                result.unavailable[service] = after.first_acknowledged(service) - stopped
            for server in servers:
                result.failures += check_readers(server, "before")
    finally:
        old.close()
        new.close()
    return result


def loaded(addresses: list[str], namespace: str) -> Load:
    """The load of a namespace, ended after all services acknowledged writes for LOAD_SECONDS."""
    began = time.monotonic()
    load = Load(addresses, namespace)
    try:
        eventually(lambda: load.acknowledges(began), f"writes {namespace} the restore", seconds=120)
        goes_on_for(LOAD_SECONDS, began)
    except AssertionError as error:
        raise AssertionError(f"{error}; {load.waits_for()}") from None
    finally:
        load.end()
    return load


def move(old: PostgresHost, new: PostgresHost) -> float:
    """Dumps the old server, ends it and serves the dump from the new one at its address."""
    began = time.monotonic()
    file = Path(old.folder) / "failover.dump"
    old.dump(DATABASE, file)
    old.stop()
    new.port = old.port
    new.start()
    new.restore(file, DATABASE)
    return began


def refuse(server: Server, result: Result) -> None:
    """Until an operator accepts the new system nothing is acknowledged."""
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


def accept(server: Server, result: Result) -> None:
    config = str(server.folder / "config.json")
    done = run_winnow("migrate", "--accept-system", "--config", config)
    if done.code != 0:
        result.failures.append(f"winnow migrate --accept-system ended with {done.code}: {done.err}")
