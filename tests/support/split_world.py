"""Winnow as it runs in production: each target in processes of its own, two of each, on one
PostgreSQL and one RabbitMQ, with Envoy in front."""

from __future__ import annotations

import shutil
from typing import Any

from envoy_proxy import Envoy
from eventually import eventually
from postgres_server import Postgres
from rabbitmq_server import RabbitMq, free_ports
from winnow_process import Server, new_server, run_winnow, world_folder

import winnow

TARGETS = ("collector", "dedup", "newsfeed", "classification", "polling")
REPLICAS = 2


class Split:
    def __init__(self) -> None:
        self.folder = world_folder("split")
        self.servers: dict[str, list[Server]] = {target: [] for target in TARGETS}
        self.envoy: Envoy | None = None
        self.postgres = Postgres()
        self.broker: RabbitMq | None = None

    def start(self) -> Split:
        self.broker = RabbitMq()
        self.database = self.postgres.new_database("split")
        port = free_ports(1)[0]
        self.config = {
            "postgres": {
                "url": self.database.url,
                "read_connections": 2,
                "write_connections": 2,
            },
            "events": {
                "url": self.broker.url,
                "password_file": self.broker.password_file,
            },
            # Time for Envoy to hear of a stop, as the chart gives: gRPC answers CANCELLED to calls
            # that it meets on their way when it shuts down.
            "calls": {"drain_delay": "1s"},
            # Through the mesh, as everybody else.
            "peers": {"collector": f"127.0.0.1:{port}"},
        }
        for target in TARGETS:
            for _ in range(REPLICAS):
                server = new_server(target, config=self.config, arguments=["--target", target])
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
        eventually(self.serves, "Envoy routes to Winnow", unless=self.envoy.why_not)
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

    def connect(self, **options: Any) -> winnow.Winnow:
        return winnow.connect(self.address, timeout=60.0, **options)

    def serves(self) -> bool:
        """Whether Envoy has a healthy process of every target of the pipeline."""
        try:
            with winnow.connect(self.address, timeout=5, retry=winnow.NO_RETRY) as client:
                client.newsfeed.list_articles()
                next(client.collector.items(), None)
                client.dedup.check_document(winnow.Document(channel="c", title="Is anybody there"))
            return True
        except winnow.WinnowError:
            return False

    def restart(self, server: Server) -> None:
        """In order, on the port that it had: as a rolling update does, one after the other."""
        assert server.stop() == 0, server.log
        server.arguments = [*server.arguments[:2], "--listen", server.address]
        server.start()

    def close(self) -> None:
        if self.envoy is not None:
            self.envoy.close()
        for server in self.all():
            server.close()
        if self.broker is not None:
            self.broker.close()
        self.postgres.close()
        shutil.rmtree(self.folder, ignore_errors=True)
