"""A gRPC port that does not answer for a minute ends the process; a process that stood still for as
long goes on."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from eventually import eventually
from winnow_process import Server, metric

PORT_DEAD = 5
PIDFD_GETFD = 438  # the same system call number on x86-64 and arm64


@contextlib.contextmanager
def listening_socket(pid: int, port: int) -> Iterator[socket.socket]:
    """A duplicate of the socket that the process listens with."""
    pidfd = os.pidfd_open(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not str(entry.readlink()).startswith("socket:"):
                continue
            fd = libc.syscall(PIDFD_GETFD, pidfd, int(entry.name), 0)
            assert fd >= 0, os.strerror(ctypes.get_errno())
            with socket.socket(fileno=fd) as found:
                is_listening = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if is_listening and found.getsockname()[1] == port:
                    yield found
                    return
    finally:
        os.close(pidfd)
    raise AssertionError(f"process {pid} does not listen at port {port}")


def break_port(server: Server) -> None:
    """Connections are refused from now on; the process gets no error of its own."""
    assert server.process is not None
    with listening_socket(server.process.pid, int(server.address.rpartition(":")[2])) as found:
        found.shutdown(socket.SHUT_RDWR)


def list_categories(server: Server) -> None:
    with server.connect() as client:
        client.newsfeed.list_categories(namespace="port")


def await_check(server: Server, after: float) -> None:
    """Until it has called its own port more often than that."""
    eventually(lambda: metric(server, "winnow_port_checks_total") > after, "its port is checked")


def test_a_dead_port_ends_the_process_and_a_frozen_process_goes_on(
    make_server: Callable[..., Server],
) -> None:
    dead = make_server().start()
    frozen = make_server().start()
    for each in (dead, frozen):
        list_categories(each)
        await_check(each, 0)
    frozen.signal(signal.SIGSTOP)
    break_port(dead)
    eventually(lambda: metric(dead, "winnow_port_check_up") == 0, "the metric shows it")
    assert dead.wait() == PORT_DEAD
    assert "the gRPC port cannot accept connections" in dead.log
    assert "the gRPC port is dead" in dead.log
    last = dead.log.splitlines()[-1]
    assert "the gRPC port did not answer the process's own calls for a minute" in last, last
    # Longer than the minute has passed for the frozen one as well.
    frozen.signal(signal.SIGCONT)
    await_check(frozen, metric(frozen, "winnow_port_checks_total") + 1)
    list_categories(frozen)
    assert frozen.stop() == 0
    # The restarted process serves what was stored.
    dead.start()
    list_categories(dead)
    assert dead.stop() == 0
