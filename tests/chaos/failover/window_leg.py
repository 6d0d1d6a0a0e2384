"""A dedup window of a million entries: ready when it is able, and not before."""

from __future__ import annotations

import time

import grpc
from leg import Result
from load import submit_document
from postgres_admin import Database
from postgres_server import Postgres
from servers import serving
from winnow_process import Server, connect

import winnow

ENTRIES = 1_000_000
NAMESPACE = "window"
AIM_SECONDS = 10.0  # of the issue, from the start to the first decision
BOUND_SECONDS = 120.0
SERVICE = b"winnow.dedup.v1.DedupService"
# grpc.health.v1: a request whose first field is the service's name, a response whose first is 1.
HEALTH_REQUEST = b"\x0a" + bytes([len(SERVICE)]) + SERVICE
SERVING = b"\x08\x01"

# After the first entry, so that the stream has an epoch; arrivals never go back.
FILL = f"""
INSERT INTO dedup.entries
  (namespace, seq, document_id, channel, title, lead, canonical_url, arrival_time, root_seq)
SELECT '{NAMESPACE}-direct', head + i, 'filled-' || i, 'channel-' || i % 1000,
  concat_ws(' ', substr(md5(i || 'a'), 1, 7), substr(md5(i || 'b'), 1, 6),
    substr(md5(i || 'c'), 1, 8), substr(md5(i || 'd'), 1, 5), substr(md5(i || 'e'), 1, 7)),
  '', '', last_arrival, head + i
FROM dedup.log_streams, generate_series(1, {ENTRIES}) AS i WHERE stream = '{NAMESPACE}-direct';
UPDATE dedup.log_streams SET head = head + {ENTRIES} WHERE stream = '{NAMESPACE}-direct';
ANALYZE dedup.entries"""


def run() -> Result:
    result = Result("window")
    postgres = Postgres()
    database: Database = postgres.new_database("failover")
    try:
        with serving(database.url, count=1) as (server,):
            with connect(server.address) as client:
                assert submit_document(client, NAMESPACE, 1) is not None
            assert server.stop() == 0
            database.run(FILL)
            began = time.monotonic()
            server.launch()
            watch_start(server, began, result)
    finally:
        postgres.close()
    return result


def watch_start(server: Server, began: float, result: Result) -> None:
    """Calls from the start on: until health says SERVING they fail with UNAVAILABLE or at their
    deadline, and from then on they succeed."""
    ready = 0.0
    errors: dict[str, int] = {}
    with (
        grpc.insecure_channel(server.address) as channel,
        winnow.connect(server.address, timeout=2.0, retry=winnow.NO_RETRY) as client,
    ):
        while time.monotonic() < began + BOUND_SECONDS:
            ready = ready or (time.monotonic() - began if is_serving(channel) else 0.0)
            try:
                if submit_document(client, NAMESPACE, 2) is not None:
                    break
                error = "answered without recording"
            except winnow.WinnowError as raised:
                error = type(raised).__name__
            errors[error] = errors.get(error, 0) + 1
            if ready:
                result.failures.append(f"a call failed after health said SERVING: {error}")
    took = time.monotonic() - began
    result.acknowledged += 1
    result.unavailable["dedup"] = took
    result.notes.append(
        f"{ENTRIES:,} entries: the first decision {took:.1f} s after the start; before it: {errors}"
    )
    if took > AIM_SECONDS:
        result.notes.append(f"the aim is {AIM_SECONDS:.0f} s on a machine that does nothing else")
    server.await_ready()


def is_serving(channel: grpc.Channel) -> bool:
    check = channel.unary_unary("/grpc.health.v1.Health/Check", bytes, bytes)
    try:
        return bytes(check(HEALTH_REQUEST, timeout=1)) == SERVING
    except grpc.RpcError:
        return False
