"""HTTP/2 frames by hand: what no well-behaved client sends."""

from __future__ import annotations

import select
import socket
import ssl
import struct
from collections.abc import Iterable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1

LIMIT_SECONDS = 120.0

Header = tuple[str, str]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def integer(value: int, prefix_bits: int, first: int = 0) -> bytes:
    """HPACK's integer (RFC 7541, 5.1) after the high bits `first`."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([first | value])
    out = bytearray([first | limit])
    value -= limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def text(value: str) -> bytes:
    raw = value.encode()
    return integer(len(raw), 7) + raw


def literal(name: str, value: str, *, indexed: bool = False) -> bytes:
    """A header with its name and value spelled out; `indexed`: both enter the dynamic table."""
    return (b"\x40" if indexed else b"\x00") + text(name) + text(value)


def call_headers(path: str, extra: Iterable[Header] = (), te: str = "trailers") -> bytes:
    """The header block of a gRPC call."""
    base = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "test"),
        ("te", te),
        ("content-type", "application/grpc"),
    ]
    return b"".join(literal(name, value) for name, value in [*base, *extra])


def message(payload: bytes = b"") -> bytes:
    """A gRPC message as it stands in DATA frames."""
    return struct.pack(">BI", 0, len(payload)) + payload


class Connection:
    """A TCP connection that has sent its preface and SETTINGS."""

    def __init__(
        self, address: str, *, source: str = "127.0.0.1", tls: ssl.SSLContext | None = None
    ) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection(
            (host, int(port)), timeout=LIMIT_SECONDS, source_address=(source, 0)
        )
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self._received = b""
        self.send(PREFACE + frame(SETTINGS, 0, 0))

    def acknowledge(self) -> None:
        """The server's SETTINGS, which come first."""
        self.next_frame()
        self.send(frame(SETTINGS, ACK, 0))

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def flood(self, pieces: Iterable[bytes]) -> bool:
        """Sends until the server closes the connection; whether it did before all was sent."""
        self.socket.settimeout(0.2)
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                try:
                    rest = rest[self.socket.send(rest) :]
                    readable = select.select([self.socket], [], [], 0)[0]
                    if readable and not self.socket.recv(1 << 20):
                        return True
                except TimeoutError:
                    continue
                except OSError:
                    return True
        return False

    def call(self, stream: int, block: bytes, body: bytes = b"") -> None:
        """A whole unary call."""
        data = frame(DATA, END_STREAM, stream, message(body))
        self.send(frame(HEADERS, END_HEADERS, stream, block) + data)

    def end_of(self, stream: int) -> bytes:
        """The headers of the last HEADERS frame of the stream, undecoded; b"" if it was reset."""
        last = b""
        while received := self.next_frame():
            kind, flags, number, payload = received
            if number != stream:
                continue
            if kind == HEADERS:
                last = payload
            if kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & END_STREAM):
                return last
        raise ConnectionError("the server has closed the connection")

    def next_frame(self) -> tuple[int, int, int, bytes] | None:
        """Kind, flags, stream and payload; None once the server has closed the connection."""
        try:
            while len(self._received) < 9 or len(self._received) < 9 + self._length():
                data = self.socket.recv(1 << 16)
                if not data:
                    return None
                self._received += data
        except ConnectionError:
            return None
        length = self._length()
        kind, flags, stream = struct.unpack(">BBI", self._received[3:9])
        payload = self._received[9 : 9 + length]
        self._received = self._received[9 + length :]
        return kind, flags, stream & 0x7FFFFFFF, payload

    def _length(self) -> int:
        return int.from_bytes(self._received[:3], "big")

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
