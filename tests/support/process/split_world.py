"""Winnow as it runs in production: each target in processes of its own, two of each, on one
PostgreSQL and one RabbitMQ, with Envoy in front."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from envoy_proxy import Envoy
from eventually import eventually
from ports import reserve_port
from postgres_admin import Database
from postgres_server import Postgres
from rabbitmq_server import RabbitMq
from winnow_process import (
    Finished,
    Server,
    connect,
    metric,
    new_server,
    run_against,
    run_winnow,
    world_folder,
)

import winnow

TARGETS = ("collector", "dedup", "newsfeed", "classification", "polling")
REPLICAS = 2
# What only one target reads of the configuration, naming a file that is nowhere: the chart mounts
# these Secrets in that target's pods alone.
ABSENT = {"key_file": "/nonexistent/key"}
READ_BY_ONE: dict[str, dict[str, Any]] = {
    "collector": {"credentials": [{"name": "absent", "vendor": "newsdata", **ABSENT}]},
    "dedup": {"embedder": {"url": "http://127.0.0.1:9/v1", "model": "e5-query", **ABSENT}},
    "classification": {"llm": {"url": "http://127.0.0.1:9/v1", "model": "absent", **ABSENT}},
}
# Time for Envoy to hear of a stop, as the chart gives.
DRAIN_DELAY = "3s"


class Split:
    """Serves as a Server does, and may be taken apart."""

    def __init__(self, config: dict[str, Any]) -> None:
        """With settings beside those that make the world."""
        self._settings = config
        self.folder = world_folder("split")
        self.servers: dict[str, list[Server]] = {target: [] for target in TARGETS}
        self.envoy: Envoy | None = None
        self.postgres = Postgres()
        self.broker: RabbitMq | None = None

    def start(self) -> Split:
        self.broker = RabbitMq()
        self._database = self.postgres.new_database("split")
        port = reserve_port()
        self.config = {
            "postgres": {
                "url": self._database.url,
                "read_connections": 2,
                "write_connections": 2,
            },
            "events": {
                "url": self.broker.url,
                "password_file": self.broker.password_file,
            },
            "calls": {"drain_delay": DRAIN_DELAY},
            # Through the mesh, as everybody else.
            "peers": {"collector": f"127.0.0.1:{port}"},
            **self._settings,
        }
        for target in TARGETS:
            others = {name: each for name, each in READ_BY_ONE.items() if name != target}
            config = {**self.config, **others}
            for _ in range(REPLICAS):
                server = new_server(target, config=config, arguments=["--target", target])
                self.servers[target].append(server)
        self._migrate()
        for server in self.all():
            server.launch()
        for server in self.all():
            server.await_ready()
        addresses = {
            target: [each.address for each in servers] for target, servers in self.servers.items()
        }
        self.envoy = Envoy(self.folder, addresses, port)
        self.await_serving()
        return self

    def _migrate(self) -> None:
        server = self.servers["collector"][0]
        server.command()  # writes the configuration's file
        file = str(server.folder / "config.json")
        done = run_winnow("migrate", "--config", file)
        assert done.code == 0, done.err

    def named(self) -> list[tuple[str, Server]]:
        """Every process, with its target."""
        return [(target, server) for target, each in self.servers.items() for server in each]

    def all(self) -> list[Server]:
        return [server for _, server in self.named()]

    @property
    def address(self) -> str:
        assert self.envoy is not None
        return self.envoy.address

    @property
    def log(self) -> str:
        return "".join(each.log for each in self.all())

    def connect(self, **options: Any) -> winnow.Winnow:
        return connect(self.address, **options)

    def run(self, *arguments: str | Path, **options: Any) -> Finished:
        return run_against(self, *arguments, **options)

    def scrape(self) -> str:
        return "".join(each.scrape() for each in self.all())

    def database(self) -> Database:
        return self._database

    def await_serving(self) -> None:
        """Until Envoy has a healthy process of every target."""
        assert self.envoy is not None
        eventually(self._serves, "Envoy routes to Winnow", unless=self.envoy.why_not)

    def _serves(self) -> bool:
        try:
            with winnow.connect(self.address, timeout=30, retry=winnow.NO_RETRY) as client:
                for look in looks_at(client).values():
                    look()
            return True
        except winnow.WinnowError:
            return False

    def roll(self, servers: Sequence[Server]) -> None:
        """Stops these in order and starts them again, as a rolling update does with one of each."""
        for server in servers:
            server.signal(signal.SIGTERM)
        for server in servers:
            assert server.wait() == 0, server.log
        for server in servers:
            server.launch()
        for server in servers:
            server.await_ready()

    def close(self) -> None:
        if self.envoy is not None:
            self.envoy.close()
        for server in self.all():
            server.close()
        if self.broker is not None:
            self.broker.close()
        self.postgres.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def looks_at(client: winnow.Winnow) -> dict[str, Callable[[], object]]:
    """A call of each target that changes nothing."""
    document = winnow.Document(channel="c", title="Is anybody there")
    return {
        "collector": lambda: client.collector.list_items(page_size=1),
        "dedup": lambda: client.dedup.check_document(document),
        "newsfeed": lambda: client.newsfeed.list_articles(page_size=1),
        "classification": lambda: client.classification.get_policy(),
        "polling": lambda: client.polling.get_stats("stt"),
    }


def is_called(server: Server) -> bool:
    return metric(server, "winnow_rpc_requests_total") > 0
