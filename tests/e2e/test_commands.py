"""What all commands have in common: words that are none, signals, readers that go away."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
from winnow_process import BINARY, ENVIRONMENT, LIMIT_SECONDS, Server, run_winnow

pytestmark = pytest.mark.one_process("commands, before and while they ask a server")


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [str(BINARY), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("group", [[], ["feed"], ["jobs", "policy"]])
def test_an_unknown_command_is_named(group: list[str]) -> None:
    done = run_winnow(*group, "bogus")
    assert done.code == 2
    assert '"bogus"' in done.err
    assert " ".join(["winnow", *group, "--help"]) in done.err
    assert "is required" in run_winnow(*group).err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_command_while_it_connects(number: signal.Signals) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(LIMIT_SECONDS)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with running("feed", "list", "--timeout", "3600", "--address", address) as process:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(number)
                assert process.wait(timeout=LIMIT_SECONDS) == 130


class Deaf(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # no generic class outside the stubs
    """Takes every call, and answers none."""

    def __init__(self) -> None:
        self.called = threading.Event()
        self.ended = threading.Event()

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        def wait(request: bytes, context: grpc.ServicerContext) -> bytes:
            context.add_callback(self.ended.set)
            self.called.set()
            self.ended.wait(LIMIT_SECONDS)
            return b""

        return grpc.unary_unary_rpc_method_handler(wait)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_call_that_is_not_answered(number: signal.Signals) -> None:
    deaf = Deaf()
    server = grpc.server(ThreadPoolExecutor(1), handlers=[deaf])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        address = f"127.0.0.1:{port}"
        with running("feed", "list", "--timeout", "3600", "--address", address) as process:
            assert deaf.called.wait(LIMIT_SECONDS)
            process.send_signal(number)
            assert process.wait(timeout=LIMIT_SECONDS) == 130
        assert deaf.ended.wait(LIMIT_SECONDS), "the server was notified"
    finally:
        server.stop(None)


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
