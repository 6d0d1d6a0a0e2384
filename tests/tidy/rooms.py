"""The rooms of the tree: which folders there are, and which of them each may include."""

# Room -> the rooms of the same service that it includes directly; those may be included through it
# as well. A room that is not named here does not exist. Root (service.*, config.*) includes all.
SERVICES: dict[str, dict[str, set[str]]] = {
    "collector": {
        "items": set(),
        "sources": {"items"},
        "quota": {"sources"},
        "runs": {"quota"},
        "api": {"runs"},
    },
    "dedup": {
        "index": set(),
        "text": {"index"},
        "embedding": {"index"},
        "pair": {"text"},
        "policy": {"pair"},
        "log": {"policy"},
        "judge": {"log", "embedding"},
        "decide": {"judge"},
        "history": {"log"},
        "api": {"decide", "history"},
    },
    "newsfeed": {
        "articles": set(),
        "keywords": {"articles"},
        "feed": {"keywords"},
        "labels": {"articles"},
        "projection": {"feed"},
        "search": {"feed"},
        "write": {"labels", "search"},
        "tree": {"feed"},
        "api": {"projection", "tree", "write"},
    },
    "classification": {
        "model": set(),
        "audit": set(),
        "comments": {"audit"},
        "people": {"comments"},
        "projection": {"comments"},
        "policy": {"comments", "model"},
        "llm": {"policy"},
        "runs": {"policy", "projection"},
        "api": {"people", "runs"},
    },
    "polling": {
        "jobs": set(),
        "leases": {"jobs"},
        "view": {"jobs"},
        "api": {"leases"},
    },
    "app": {
        "client": set(),
        "import/input": {"client"},
        "import": {"import/input"},
        "import/redis": {"import"},
        "serve": set(),
        "commands": {"import/redis", "serve"},
    },
    "platform": {
        "base": set(),
        "base/format": {"base"},
        "base/url": {"base"},
        "process": {"base/format"},
        "proto": {"base"},
        "http": {"base/url", "process"},
        "redis": {"base/url", "process"},
        "grpc/port": {"base/url", "process"},
        "grpc/errors": {"process"},
        "grpc/runtime": {"process", "proto"},
        "grpc/call": {"grpc/errors", "grpc/runtime"},
        "grpc/peers": {"grpc/call"},
        "grpc/server": {"grpc/peers", "grpc/port"},
        "postgres/server": {"process"},
        "postgres/session": {"process"},
        "postgres/primary": {"postgres/session"},
        "postgres/pool": {"postgres/primary"},
        "postgres/log": {"postgres/pool"},
        "postgres/schema": {"postgres/pool"},
        "events/core": {"postgres/pool", "proto"},
        "events/amqp": {"events/core"},
        "config": {"http", "redis", "events/amqp", "proto"},
        "": {"redis", "events/core", "grpc/runtime"},  # platform.h, version.h
        "events/dead_letters": {"", "grpc/peers"},
    },
}

# Words that end a file's name and say what it may do. Any other file is pure.
ROLES = (
    "client",
    "codec",
    "consumer",
    "convert",
    "events",
    "handlers",
    "metrics",
    "sql",
    "store",
    "worker",
)

# Rooms all of whose files may do what a role may, whatever their names.
ROOM_ROLES = {
    # One namespace's decider, its batches, page readers and turns are parts of one worker.
    "services/dedup/decide": "worker",
}

# Headers whose classes have other names: the file is named for the thing that they handle.
CLASS_EXCEPTIONS = {
    "services/platform/base/page_token.h": "PageTokenWriter and PageTokenReader share a format",
    "services/platform/base/status.h": "Violations makes a Status",
}

MAX_FILES = 30


def closure(rooms: dict[str, set[str]]) -> dict[str, set[str]]:
    """Every room with all rooms that it may include, itself among them. Raises on a cycle."""
    done: dict[str, set[str]] = {}

    def visit(room: str, path: tuple[str, ...]) -> set[str]:
        if room in path:
            raise ValueError(f"rooms include each other: {' -> '.join((*path, room))}")
        if room not in done:
            below = (visit(each, (*path, room)) for each in rooms[room])
            done[room] = {room}.union(*below)
        return done[room]

    for room in rooms:
        visit(room, ())
    return done


REACH = {service: closure(rooms) for service, rooms in SERVICES.items()}
