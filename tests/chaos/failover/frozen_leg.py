"""Processes that freeze (SIGSTOP) under load, one of each pair in turn, as a node that hangs."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from check import compare
from eventually import eventually
from leg import Result
from load import Load, put_items
from split_world import Split
from winnow_process import Server

ITEMS = 300
NAMESPACE = "frozen"
TARGETS = ("dedup", "newsfeed", "collector")  # whose queues and leases hold events
AIM_SECONDS = 15.0
BOUND_SECONDS = 60.0


def run() -> Result:
    result = Result("frozen")
    split = Split({})
    try:
        split.start()
        load = Load([split.address], NAMESPACE)
        try:
            for number, target in enumerate(TARGETS):
                freeze_one(split, target, 1_000_000 * (1 + number), result)
        finally:
            load.end()
        with split.connect() as client:
            compare(load, client, split.database().run, result)
            for target, servers in split.servers.items():
                dead = sum(each.log.count('"event is a dead letter"') for each in servers)
                if dead:
                    result.failures.append(f"{dead} dead letters of {target}")
    finally:
        split.close()
    return result


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


def freeze_one(split: Split, target: str, first: int, result: Result) -> None:
    """The first process of the target; what is put through the second collector goes on."""
    with frozen(split.servers[target][0]):
        began = time.monotonic()
        with split.servers["collector"][1].connect() as client:
            urls = put_items(client, NAMESPACE, range(first, first + ITEMS))
        in_list = ", ".join(f"'{url}'" for url in urls)
        query = f"SELECT count(*) FROM newsfeed.news_articles WHERE url IN ({in_list})"
        try:
            eventually(
                lambda: int(split.database().run(query)) == ITEMS,
                f"{ITEMS} items are articles while a process of {target} is frozen",
                seconds=BOUND_SECONDS,
            )
        except AssertionError as error:
            result.failures.append(str(error))
        took = time.monotonic() - began
    result.acknowledged += ITEMS
    result.notes.append(f"{target} frozen: {ITEMS} items were articles after {took:.1f} s")
    if took > AIM_SECONDS:
        result.failures.append(f"{target} frozen: {took:.1f} s, the aim is {AIM_SECONDS:.0f} s")
