"""What each file may include: rooms.py has the graph of folders, this the roles of files."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from rooms import REACH, ROLES, ROOM_ROLES
from source import Finding, Source, line_of

SERVICES = ("collector", "dedup", "newsfeed", "classification", "polling")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# A standard header has neither folder nor suffix. Vector instructions are arithmetic.
BASE = r"[a-z_0-9]+|immintrin\.h|services/platform/base/.*"
POSTGRES = r"services/platform/(postgres/.*|events/core/outbox\.h|process/(log|metrics)\.h)"
# All of the platform but the gRPC library's wiring.
PLATFORM = (
    r"services/platform/(?!grpc/|proto/).*"
    r"|services/platform/grpc/call/(call_context|handler|subscriber|watch_loop)\.h"
    r"|services/platform/grpc/errors/rpc_status\.h"
)
# Calls of another service.
PEERS = (
    r"services/platform/grpc/(peers/peers|errors/error_exit)\.h|services/platform/proto/.*"
    r"|winnow/\w+/v1/.*\.pb\.h"
)
EVENTS = r"winnow/events/v1/\w+\.pb\.h|services/platform/proto/.*"
# google/protobuf's well-known types and google/rpc; .grpc.pb.h is a stub, no message.
MESSAGES = (
    r"google/(protobuf|rpc)/[a-z_]+\.pb\.h|winnow/(common|events|{service})/v1/\w+\.pb\.h"
    r"|services/platform/proto/.*"
)

# What each role may include, beside headers of its own service.
ALLOWED = {
    "pure": BASE,
    "sql": f"{BASE}|{POSTGRES}|{EVENTS}",
    "store": f"{BASE}|{POSTGRES}|{EVENTS}",
    "events": f"{BASE}|{POSTGRES}|{EVENTS}",
    "metrics": rf"{BASE}|services/platform/process/metrics\.h",
    "codec": f"{BASE}|{MESSAGES}",
    "client": f"{BASE}|{PLATFORM}|{PEERS}",
    "worker": f"{BASE}|{PLATFORM}",
    "consumer": f"{BASE}|{PLATFORM}|{EVENTS}",
    "convert": f"{BASE}|{MESSAGES}|services/platform/grpc/errors/.*",
    "handlers": f"{BASE}|{PLATFORM}|{MESSAGES}",
    "root": r"[a-z_0-9]+|grpcpp/.*|services/platform/.*|google/.*|winnow/.*",
}
# Which roles of its own service each role may include.
DATA = {"pure", "sql", "store", "events"}
OWN = {
    "pure": {"pure"},
    "sql": DATA,
    "store": {*DATA, "codec"},
    "events": DATA,
    "metrics": {"pure", "metrics"},
    "codec": {"pure", "codec"},
    "client": {*DATA, "metrics", "codec", "client", "worker", "consumer"},
    "worker": {*DATA, "metrics", "codec", "client", "worker"},
    "consumer": {*DATA, "metrics", "codec", "client", "worker", "consumer"},
    "convert": {"pure", "codec", "convert"},
    "handlers": {*ROLES, "pure"},
    "root": {*ROLES, "pure", "root"},
}
HINT = {
    "pure": "a file without a role in its name includes pure files and platform/base",
    "sql": "SQL includes its data, platform/postgres and the events that it writes",
    "store": "a store includes its data, platform/postgres and the events that it writes",
    "events": "events include their data, platform/postgres and event messages",
    "metrics": "metrics include their data and platform/process/metrics.h",
    "codec": "a codec includes its data and messages",
    "client": "a client includes its data, stores, HTTP, Redis and stubs",
    "worker": "a worker includes no messages, no gRPC library and no driver",
    "consumer": "a consumer includes event messages, no gRPC library and no driver",
    "convert": "a conversion includes its data and messages of its own service",
    "handlers": "handlers include no gRPC library, no driver and no other service",
    "root": "service.* and config.* include their own service, the platform and stubs",
}
# What a file of api/ is named that handles calls or streams, and may do what handlers may.
API_WORDS = {"handlers", "store", "watch", "watches", "worker", "hub", "loop"}
# Headers of the platform that do I/O; platform/base has none of them.
IO_HEADER = re.compile(
    r"grpcpp/|google/protobuf/|pqxx/|libpq|hiredis|amqp|rabbitmq|curl/curl\.h|civetweb|sys/"
    r"|unistd\.h|fcntl\.h|poll\.h|netdb\.h"
    r"|f?stream$|iostream|filesystem|thread$|mutex$|condition_variable"
)
# Of platform/base: they parse addresses and URLs by these libraries, and connect nowhere. A mutex
# there guards a table that is filled once.
BASE_EXCEPTIONS = {
    ("services/platform/base/url/target.cc", "curl/curl.h"),
    ("services/platform/base/format/xml.cc", "mutex"),
}


def service_of(path: str) -> str | None:
    match = re.match(r"services/(\w+)/", path)
    return match[1] if match else None


def room_of(path: str) -> str:
    """The folder of a file within its service: "" for the root."""
    return "/".join(path.split("/")[2:-1])


def role_of(path: str) -> str:
    if path.endswith(".sql.h"):  # made of a .sql file
        return "sql"
    room = room_of(path)
    last = re.split(r"[_/]", PurePosixPath(path).name.split(".")[0])
    if room == "":
        return "root"
    if room == "api":
        if "convert" in last:
            return "convert"
        return "handlers" if API_WORDS.intersection(last) else "pure"
    by_room = ROOM_ROLES.get(str(PurePosixPath(path).parent))
    # A part of a file's code: feed_store_count.cc is of feed_store.h.
    words = [word for word in last if word in ROLES]
    if path.endswith(".h"):
        words = [word for word in words if word == last[-1]]
    return words[-1] if words else by_room or "pure"


def judge_rooms(path: str, service: str, included: str) -> str | None:
    room, other = room_of(path), room_of(included)
    reach = REACH[service]
    if room == "" and service != "platform":
        return None
    for each in (room, other):
        if each not in reach:
            return f"{each or 'the root'} is not a room that may be included (rooms.py)"
    return None if other in reach[room] else f"{room} may not include {other} (rooms.py)"


def judge_service(source: Source, service: str, included: str) -> str | None:
    role = role_of(source.path)
    other = service_of(included)
    if other in SERVICES and other != service:
        return f"{service} may not include services/{other}: they talk by events and stubs"
    if other == service:
        finding = judge_rooms(source.path, service, included)
        known = role_of(included)
        return finding or (None if known in OWN[role] else f"{role} may not include {known}")
    allowed = ALLOWED[role].replace("{service}", service)
    is_stub = included.endswith(".grpc.pb.h") and role not in {"root", "client"}
    return None if re.fullmatch(allowed, included) and not is_stub else HINT[role]


def judge_platform(source: Source, included: str) -> str | None:
    if re.match(r"services/(?!platform/)", included):
        return "the platform knows no service"
    if included.startswith("services/"):
        return judge_rooms(source.path, "platform", included)
    if re.match(r"winnow/(?!(common|config|events)/)", included):
        return "the platform knows the common, config and events protos only"
    if included.startswith("grpcpp/") and not source.path.startswith("services/platform/grpc/"):
        return "grpcpp stays in services/platform/grpc"
    if re.match(r"pqxx/|libpq", included) and "/postgres/" not in source.path:
        return "PostgreSQL drivers stay in services/platform/postgres"
    in_base = source.path.startswith("services/platform/base/")
    if in_base and IO_HEADER.match(included) and (source.path, included) not in BASE_EXCEPTIONS:
        return "platform/base is pure: no header that does I/O"
    return None


def judge_app(source: Source, included: str) -> str | None:
    service = service_of(included)
    if service in SERVICES and included != f"services/{service}/service.h":
        return "of a service, app knows service.h alone"
    return judge_rooms(source.path, "app", included) if service == "app" else None


def judge(source: Source, included: str, quoted: bool) -> str | None:
    if quoted and not re.match(r"(services|tests|tools|winnow|google|absl)/", included):
        return "quoted includes are rooted at the repository: services/..., winnow/..."
    if included.startswith("absl/") and not source.path.startswith(
        ("services/platform/", "tests/")
    ):
        return "absl comes through services/platform/base alone"
    service = service_of(source.path)
    if service in SERVICES:
        return judge_service(source, service, included)
    if service == "platform":
        return judge_platform(source, included)
    if service == "app":
        return judge_app(source, included)
    return None


def check(source: Source) -> Iterator[Finding]:
    if not source.is_cpp:
        return
    for match in INCLUDE.finditer(source.text):
        message = judge(source, match[2], match[1] == '"')
        if message:
            line = line_of(source.text, match.start(2))
            yield Finding(source.path, line, "include", f"{match[2]}: {message}")
