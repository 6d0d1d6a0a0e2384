"""The gRPC port under hostile connections, and too few descriptors."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import urllib.request
from collections.abc import Callable

import pytest
from eventually import eventually
from winnow_process import Server, metric

import winnow

pytestmark = pytest.mark.one_process("it is about one process's descriptors")

# So that the CPUs of this machine do not decide how many are needed.
SMALL = {"postgres": {"read_connections": 4, "write_connections": 4}}
NEEDED = re.compile(r"the limit on open files is (\d+), this configuration needs (\d+)")


def bare_connections(address: str, count: int) -> None:
    """Opens and closes them, all at a time as far as the server lets them."""
    host, _, port = address.rpartition(":")
    with contextlib.ExitStack() as opened:
        for _ in range(count):
            with contextlib.suppress(ConnectionError):
                each = socket.create_connection((host, int(port)), timeout=30)
                opened.enter_context(contextlib.closing(each))


def answers(server: Server) -> bool:
    """A normal call over a new connection."""
    one_try = winnow.RetryPolicy(attempts=1)
    with (
        server.connect(retry=one_try, timeout=10) as client,
        contextlib.suppress(winnow.WinnowError),
    ):
        client.newsfeed.list_categories(namespace="port")
        return True
    return False


def test_the_port_survives_more_connections_than_there_are_descriptors(
    make_server: Callable[..., Server],
) -> None:
    server = make_server(config=SMALL, descriptors=200).start()
    for _ in range(3):
        bare_connections(server.address, 400)
        eventually(lambda: answers(server), "a normal call is answered")
    assert metric(server, "winnow_connections_refused_total") > 0
    assert server.stop() == 0


def least_descriptors(make_server: Callable[..., Server]) -> int:
    """What a server says that it needs, when it has too few."""
    server = make_server(config=SMALL, descriptors=100)
    server.launch()
    assert server.wait() == 1
    found = NEEDED.search(server.log)
    assert found, server.log
    assert found[1] == "100"
    assert "ulimit -n" in server.log
    assert "LimitNOFILE=" in server.log
    return int(found[2])


def test_a_server_with_the_least_descriptors_and_fifty_more_survives_too(
    make_server: Callable[..., Server],
) -> None:
    least = least_descriptors(make_server)
    server = make_server(config=SMALL, descriptors=least + 50).start()
    bare_connections(server.address, 400)
    eventually(lambda: answers(server), "a normal call is answered")
    refused = make_server(config=SMALL, descriptors=least - 1)
    refused.launch()
    assert refused.wait() == 1
    assert server.stop() == 0


def test_the_health_page_shows_the_probes(make_server: Callable[..., Server]) -> None:
    server = make_server(config=SMALL).start()
    page = server.metrics.replace("/metrics", "/health")
    with urllib.request.urlopen(page, timeout=60) as response:
        services = {each["service"]: each for each in json.load(response)["services"]}
    assert services["winnow.newsfeed.v1.NewsFeedService"]["serving"]
    assert [probe["name"] for probe in services[""]["probes"]] == ["port"]
    assert all(probe["ok"] for each in services.values() for probe in each["probes"])
