"""Ports of servers that must come back on the port they had.

A port that was bound as 0 is one of those that the kernel gives to anybody, also as the near end of
a connection: while its server is down somebody else may get it. These lie outside that range, and
an abstract socket by the port's name keeps other suites from choosing it until this process ends.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_held: list[socket.socket] = []


def _candidates() -> list[int]:
    low, high = map(int, _EPHEMERAL.read_text().split())
    outside = [port for port in range(10_000, 65_536) if not low <= port <= high]
    assert len(outside) > 1000, f"all ports are ephemeral: {_EPHEMERAL} says {low} to {high}"
    return random.sample(outside, len(outside))


def _hold(port: int) -> bool:
    """Whether nobody listens there and no suite has chosen it; if so this one now has."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0winnow-test-port-{port}")
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        name.close()
        return False
    _held.append(name)
    return True


def reserve_port() -> int:
    return next(port for port in _candidates() if _hold(port))


def reserve_address() -> str:
    return f"127.0.0.1:{reserve_port()}"
