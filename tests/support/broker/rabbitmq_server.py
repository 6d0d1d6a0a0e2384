"""A RabbitMQ as a child process, on free loopback ports in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from typing import Any

from eventually import eventually
from ports import reserve_port
from winnow_process import world_folder

PROGRAMS = "/usr/lib/rabbitmq/bin"
COOKIE = "winnowtests"


class RabbitMq:
    def __init__(self) -> None:
        self.folder = world_folder("rabbitmq")
        self.port = reserve_port()
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\ndisk_free_limit.absolute = 50MB\n"
            "log.console = true\nlog.file = false\n"
        )
        (self.folder / "password").write_text("guest\n")
        (self.folder / "enabled_plugins").write_text("[].\n")
        folder = str(self.folder)
        self._environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": folder,
            "RABBITMQ_NODENAME": f"winnow{self.port}@localhost",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_PID_FILE": f"{folder}/pid",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_DIST_PORT": str(reserve_port()),
            "ERL_EPMD_PORT": str(reserve_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"+S 1:1 +sbwt none -setcookie {COOKIE}"
            " -kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_CTL_ERL_ARGS": f"-setcookie {COOKIE}",
        }
        self.start()

    def start(self) -> None:
        """Also again, after kill()."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", f"{PROGRAMS}/rabbitmq-server"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )
        eventually(self._takes_connections, "RabbitMQ is ready", seconds=300, unless=self._why_not)

    def _takes_connections(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _why_not(self) -> str | None:
        code = self._process.poll()
        log = self.folder / "log"
        return None if code is None else f"it ended with {code}:\n{log.read_text()}"

    @property
    def password_file(self) -> str:
        return str(self.folder / "password")

    @property
    def url(self) -> str:
        """Without the password, which is in password_file."""
        return f"amqp://guest@127.0.0.1:{self.port}/%2f"

    def control(self, *arguments: str) -> str:
        """rabbitmqctl with these arguments; its output."""
        done = subprocess.run(
            [f"{PROGRAMS}/rabbitmqctl", "-q", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self._environment,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def definitions(self) -> dict[str, list[dict[str, Any]]]:
        """All that is declared there: queues, exchanges, bindings, policies."""
        declared: dict[str, list[dict[str, Any]]] = json.loads(
            self.control("export_definitions", "-")
        )
        return declared

    def kill(self) -> None:
        """kill -9 of all that it is."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=180)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        subprocess.run(["epmd", "-kill"], env=self._environment, capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
