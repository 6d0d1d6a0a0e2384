"""Known CVEs of gRPC 1.51, and their like, with real HTTP/2 frames (docs/adr/0016)."""

from __future__ import annotations

import itertools
import ssl
from collections.abc import Callable, Iterator

import pytest
from eventually import eventually
from http2_frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    Connection,
    call_headers,
    frame,
    integer,
    literal,
    text,
)
from winnow_process import ROOT, Server, metric, new_server

pytestmark = pytest.mark.one_process("it is about one process's port")

CERTS = ROOT / "tests" / "support" / "certs"
CHECK = "/grpc.health.v1.Health/Check"
GET_ARTICLE = "/winnow.newsfeed.v1.NewsFeedService/GetArticle"
OK = literal("grpc-status", "0")[1:]
# More than any flood below may bring in; each ends long before.
MANY = 1_000_000
_sources = itertools.count(2)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = new_server("e2e-frames")
    try:
        yield server.start()
    finally:
        server.close()


def new_source() -> str:
    """An address that has flooded nothing yet: the port remembers those that did."""
    return f"127.0.2.{next(_sources)}"


def is_ok(connection: Connection, stream: int, block: bytes | None = None) -> bool:
    connection.call(stream, block or call_headers(CHECK))
    return OK in connection.end_of(stream)


def assert_others_are_served(server: Server) -> None:
    assert server.process is not None
    assert server.process.poll() is None, server.log
    with Connection(server.address) as other:
        other.acknowledge()
        assert is_ok(other, 1)


def resets() -> Iterator[bytes]:
    block = call_headers(CHECK)
    for first in range(1, 2 * MANY, 200):
        yield b"".join(
            frame(HEADERS, END_HEADERS, stream, block) + frame(RST_STREAM, 0, stream, bytes(4))
            for stream in range(first, first + 200, 2)
        )


def continued(block: bytes, more: bytes) -> Iterator[bytes]:
    """A header block that never ends."""
    yield frame(HEADERS, 0, 1, block)
    yield from itertools.repeat(frame(CONTINUATION, 0, 1, more), MANY)


HUGE = b"\x00" + text("x-huge") + integer(1 << 31, 7)  # the header's value: 2 GiB
ENDLESS = b"\x00" + text("x-endless") + b"\x7f"  # its length: an integer that goes on
FLOODS = {
    "CVE-2023-44487 rapid reset": (resets, "resets"),
    "CVE-2023-33953 a string beyond the limit": (
        lambda: continued(HUGE, bytes(16_000)),
        "header_block",
    ),
    "CVE-2023-33953 an integer with endless padding": (
        lambda: continued(ENDLESS, b"\x80"),
        "header_block",
    ),
    "CVE-2023-33953 a header in many small frames": (
        lambda: continued(HUGE, b"x"),
        "header_block",
    ),
    "SETTINGS": (lambda: itertools.repeat(frame(SETTINGS, 0, 0), MANY), "settings"),
    "empty DATA": (lambda: itertools.repeat(frame(DATA, 0, 1), MANY), "frames"),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_ends_its_connection_alone(port: Server, name: str) -> None:
    pieces, reason = FLOODS[name]
    label = f'reason="{reason}"'
    before = metric(port, "winnow_connections_cut", label)
    with (
        Connection(port.address) as neighbour,
        Connection(port.address, source=new_source()) as flooder,
    ):
        neighbour.acknowledge()
        flooder.acknowledge()
        assert flooder.flood(pieces()), "the connection was not cut"
        assert is_ok(neighbour, 1)
    eventually(lambda: metric(port, "winnow_connections_cut", label) > before, "the cut is counted")
    assert_others_are_served(port)


def test_pings_end_their_connection(port: Server) -> None:
    """By gRPC's own count of them."""
    pings = itertools.repeat(frame(PING, 0, 0, bytes(8)), MANY)
    with Connection(port.address, source=new_source()) as flooder:
        flooder.acknowledge()
        assert flooder.flood(pings)
    assert_others_are_served(port)


def test_headers_without_end_end_their_connection(port: Server) -> None:
    """By gRPC's own limit of metadata, or by ours: whichever comes first."""
    endless = continued(call_headers(CHECK), literal("x", "y" * 1000) * 8)
    with Connection(port.address, source=new_source()) as flooder:
        flooder.acknowledge()
        assert flooder.flood(endless)
    assert_others_are_served(port)


def test_streams_are_bounded_before_settings_are_acknowledged(port: Server) -> None:
    block = call_headers(GET_ARTICLE)
    opened = (frame(HEADERS, END_HEADERS, stream, block) for stream in range(1, 2 * MANY, 2))
    with Connection(port.address, source=new_source()) as flooder:
        assert flooder.flood(opened)
    assert_others_are_served(port)


def test_an_address_that_goes_on_flooding_is_refused_for_a_while(port: Server) -> None:
    label = 'reason="flooding"'
    source = new_source()

    def is_refused() -> bool:
        try:
            with Connection(port.address, source=source) as flooder:
                flooder.flood(itertools.repeat(frame(SETTINGS, 0, 0), 100_000))
        except OSError:
            pass
        return metric(port, "winnow_connections_refused_total", label) > 0

    eventually(is_refused, "its connections are refused")
    assert_others_are_served(port)

    # And not for good: one more may come every five seconds.
    def is_admitted() -> bool:
        try:
            with Connection(port.address, source=source) as again:
                again.acknowledge()
                return is_ok(again, 1)
        except OSError:
            return False

    eventually(is_admitted, "it is admitted again")


LONG = [(f"x-{number}", "y" * 3000) for number in range(4)]  # beyond 8 KiB
ABORTING = {
    "te": call_headers(CHECK, LONG, te="x"),
    "scheme": literal(":scheme", "x") + b"".join(literal(*each) for each in LONG),
    "grpclb": call_headers(CHECK, [("grpclb_client_stats", "x"), *LONG]),
}


@pytest.mark.parametrize("acknowledged", [True, False])
@pytest.mark.parametrize("name", ABORTING)
def test_cve_2023_1428_no_header_aborts_the_process(
    port: Server, name: str, acknowledged: bool
) -> None:
    with Connection(port.address) as hostile:
        if acknowledged:
            hostile.acknowledge()
        hostile.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, ABORTING[name]))
        assert OK not in hostile.end_of(1)
    assert_others_are_served(port)


def indexed(name: str, value: str) -> bytes:
    return literal(name, value, indexed=True)


NEWEST = bytes([0x80 | 62])  # the newest entry of HPACK's dynamic table


def failing_call(extra: bytes) -> bytes:
    """A call whose error is logged with its x-request-id."""
    return call_headers(GET_ARTICLE, te="trailers") + extra


def logged(server: Server, request_id: str) -> bool:
    return f'"request_id":"{request_id}"' in server.log


def test_cve_2023_32731_headers_beyond_the_limit_leave_the_table_in_step(port: Server) -> None:
    """What is indexed after the header that goes too far is found by the next call."""
    too_long = b"".join(literal(*each) for each in LONG)
    with Connection(port.address) as proxy:
        proxy.acknowledge()
        before, after = indexed("x-request-id", "before"), indexed("x-request-id", "after-limit")
        proxy.call(1, failing_call(before + too_long + after))
        try:
            proxy.end_of(1)
            proxy.call(3, failing_call(NEWEST))
            proxy.end_of(3)
        except ConnectionError:
            return  # as good: nobody else's headers can follow
    eventually(lambda: logged(port, "after-limit"), "the second call has the second header")
    assert not logged(port, "before")


@pytest.mark.parametrize("name", ["CVE-2023-44487 rapid reset"])
def test_a_flood_over_tls_ends_its_connection(
    make_server: Callable[..., Server], name: str
) -> None:
    server = make_server(
        config={
            "tls": {"cert_file": str(CERTS / "server.pem"), "key_file": str(CERTS / "server.key")}
        }
    ).start()
    context = ssl.create_default_context(cafile=str(CERTS / "ca.pem"))
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    pieces, reason = FLOODS[name]
    with Connection(server.address, tls=context) as flooder:
        flooder.acknowledge()
        assert flooder.flood(pieces()), "the connection was not cut"
    eventually(
        lambda: metric(server, "winnow_connections_cut", f'reason="{reason}"') == 1,
        "the cut is counted",
    )
    with Connection(server.address, tls=context) as other:
        other.acknowledge()
        assert is_ok(other, 1)
