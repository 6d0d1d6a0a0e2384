from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_server import Script, Server

import winnow
from winnow.connection import Connection, open_channel


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def script(server: Server) -> Script:
    return server.script


@pytest.fixture
def delays() -> list[float]:
    """What the client under test waited between tries; it does not really wait."""
    return []


@pytest.fixture
def client(server: Server, delays: list[float]) -> Iterator[winnow.Winnow]:
    connection = Connection(
        channel=open_channel(server.address, None), timeout=30.0, sleep=delays.append
    )
    with winnow.Winnow(connection) as made:
        yield made


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, its own authority, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", str(key), "-out", str(cert), "-days", "2"]
    command += ["-subj", "/CN=winnow-test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return cert, key
