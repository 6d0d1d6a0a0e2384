"""The include table: which part of a service may know what (ARCHITECTURE.md has it in words)."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from source import Finding, Source, line_of

SERVICES = ("collector", "dedup", "newsfeed", "classification", "polling")
# Files of a service are told by the first word of their name: store_history.cc is of the store.
ROLES = ("store", "convert", "handlers", "worker", "service")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# A standard header has neither folder nor suffix.
STANDARD = r"[a-z_0-9]+"
# The platform's pure parts: rules of their own, no I/O.
PURE = (
    r"services/platform/"
    r"(status|clock|ascii|text|hash|url|page_token|json_reader|charset|xml|http/target)\.h"
)
# google/protobuf's well-known types and google/rpc; grpc.pb.h is a stub, no message.
MESSAGES = r"google/(protobuf|rpc)/[a-z_]+\.pb\.h|winnow/(common|events|{service})/v1/\w+\.pb\.h"
# Everything of the platform but the gRPC library's wiring; of that, what a call, an error message
# and a watch are.
PLATFORM_OF_HANDLERS = (
    r"services/platform/(?!grpc/)[a-z_0-9/]+\.h|services/platform/grpc/(call|rpc_status|watch)\.h"
)

# Vector instructions: arithmetic, no I/O.
INTRINSICS = r"immintrin\.h"

# What each role may include beside the headers of its own service that OWN names.
ALLOWED = {
    "domain": f"{STANDARD}|{PURE}|{INTRINSICS}",
    "store": f"{STANDARD}|{PURE}|services/platform/(uuid|timestamp|embedded|log|metrics)\\.h"
    r"|services/platform/postgres/[a-z_]+\.h|services/platform/events/outbox\.h"
    r"|winnow/events/v1/events\.pb\.h",
    "convert": f"{STANDARD}|{PURE}|{MESSAGES}|services/platform/(timestamp|uuid)\\.h"
    r"|services/platform/grpc/rpc_status\.h",
    "handlers": f"{STANDARD}|{PLATFORM_OF_HANDLERS}|{MESSAGES}",
    "worker": f"{STANDARD}|{PLATFORM_OF_HANDLERS}|{MESSAGES}",
    "service": f"{STANDARD}|grpcpp/.*|services/platform/.*|google/.*|winnow/.*",
}
# Which roles of its own service each role may know.
OWN = {
    "domain": {"domain"},
    "store": {"domain", "store"},
    "convert": {"domain", "convert"},
    "handlers": {"domain", "store", "convert", "handlers", "worker"},
    "worker": {"domain", "store", "convert", "handlers", "worker"},
    "service": {"domain", *ROLES},
}
HINT = {
    "domain": "domain rules know std and platform/"
    "{status,clock,ascii,text,hash,url,page_token,json_reader,charset,xml,http/target}.h only",
    "store": "a store knows its domain and platform/postgres",
    "convert": "convert knows its domain and its own messages",
    "handlers": "handlers know no gRPC library, no driver and no other service",
    "worker": "workers know no gRPC library, no driver and no other service",
    "service": "service wires its own folder, the platform and stubs",
}


def role_of(path: str) -> str:
    stem = PurePosixPath(path).name.split(".")[0]
    return next((role for role in ROLES if stem == role or stem.startswith(f"{role}_")), "domain")


def service_of(path: str) -> str | None:
    match = re.match(r"services/(\w+)/", path)
    return match[1] if match and match[1] in SERVICES else None


def judge_service(source: Source, service: str, included: str) -> str | None:
    role = role_of(source.path)
    other = service_of(included)
    if other is not None and other != service:
        return f"{service} may not know services/{other}: they talk by events and stubs"
    if other == service:
        known = role_of(included)
        return None if known in OWN[role] else f"{role} may not know {known}: {HINT[role]}"
    allowed = ALLOWED[role].replace("{service}", service)
    if re.fullmatch(allowed, included) and not (
        included.endswith(".grpc.pb.h") and role != "service"
    ):
        return None
    return HINT[role]


def judge_platform(source: Source, included: str) -> str | None:
    if re.match(r"services/(?!platform/)", included):
        return "the platform knows no service"
    if re.match(r"winnow/(?!(common|config|events)/)", included):
        return "the platform knows the common, config and events protos only"
    if included.startswith("grpcpp/") and not source.path.startswith("services/platform/grpc/"):
        return "grpcpp stays in services/platform/grpc"
    if re.match(r"pqxx/|libpq", included) and "/postgres/" not in source.path:
        return "PostgreSQL drivers stay in services/platform/postgres"
    return None


def judge_app(included: str) -> str | None:
    service = service_of(included)
    if service is not None and included != f"services/{service}/service.h":
        return "of a service, app knows service.h alone"
    return None


def judge(source: Source, included: str, quoted: bool) -> str | None:
    if quoted and not re.match(r"(services|tests|tools|winnow|google|absl)/", included):
        return "quoted includes are rooted at the repository: services/..., winnow/..."
    if included.startswith("absl/") and not source.path.startswith(
        ("services/platform/", "tests/")
    ):
        return "absl comes through services/platform/status.h alone"
    service = service_of(source.path)
    if service is not None:
        return judge_service(source, service, included)
    if source.path.startswith("services/platform/"):
        return judge_platform(source, included)
    if source.path.startswith("services/app/"):
        return judge_app(included)
    return None


def check(source: Source) -> Iterator[Finding]:
    if not source.is_cpp:
        return
    for match in INCLUDE.finditer(source.text):
        message = judge(source, match[2], match[1] == '"')
        if message:
            line = line_of(source.text, match.start(2))
            yield Finding(source.path, line, "include", f"{match[2]}: {message}")
