"""A PostgreSQL primary with a streaming standby on loopback TCP, for failover tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from eventually import eventually
from ports import reserve_port
from postgres_admin import USER, Database
from winnow_process import children_of, is_running, world_folder

# Longer than any statement of a test; every command ends by then.
COMMAND_SECONDS = 180.0


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "PostgreSQL is not installed"
    return found[-1].parent


def _as_postgres() -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


class PostgresHost:
    """One server on 127.0.0.1:port, stopped at first. Data are trusted to the machine (no sync)."""

    def __init__(self) -> None:
        self.folder = world_folder("pg-host")
        self.data = self.folder / "data"
        self.port = reserve_port()
        self._process: subprocess.Popen[bytes] | None = None
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")

    def initialize(self) -> PostgresHost:
        """Creates an empty cluster, with a system identifier of its own."""
        self.command("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8")
        return self

    def copy_of(self, primary: PostgresHost) -> PostgresHost:
        """Becomes a streaming standby of a running host."""
        source = ["-h", "127.0.0.1", "-p", str(primary.port), "-U", USER, "-D", str(self.data)]
        slot = f"standby_{self.port}"
        self.command("pg_basebackup", *source, "-R", "-X", "stream", "-c", "fast", "-C", "-S", slot)
        return self

    def command(self, program: str, *arguments: str | Path) -> bytes:
        """Runs a PostgreSQL program as the server's user; returns its standard output."""
        done = subprocess.run(
            [*_as_postgres(), str(_programs() / program), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=COMMAND_SECONDS,
            cwd="/",
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stderr.decode(errors='replace')}"
        return done.stdout

    def start(self) -> PostgresHost:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "port": self.port,
            "max_connections": 200,
            "fsync": "off",
        }
        options = [part for item in settings.items() for part in ("-c", f"{item[0]}={item[1]}")]
        prefix = [*_as_postgres(), "setpriv", "--pdeathsig", "INT"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*prefix, str(_programs() / "postgres"), "-D", str(self.data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "LC_ALL": "C"},
                cwd="/",
            )
        eventually(self._accepts, "PostgreSQL accepts connections", unless=self._why_not)
        return self

    def _accepts(self) -> bool:
        program = [str(_programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(program, stdin=subprocess.DEVNULL, check=False).returncode == 0

    def _why_not(self) -> str | None:
        assert self._process is not None
        code = self._process.poll()
        return None if code is None else f"it exited with {code}:\n{self.log}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def database(self, name: str = "postgres") -> Database:
        return Database(self.folder, name, self.port)

    def query(self, statement: str, database: str = "postgres") -> str:
        return self.database(database).run(statement).strip()

    def in_recovery(self) -> bool:
        return self.query("SELECT pg_is_in_recovery()") == "t"

    def _signal_all(self, number: signal.Signals) -> None:
        """The postmaster first, so that it starts no further child."""
        assert self._process is not None
        self._process.send_signal(number)
        for child in children_of(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    def freeze(self) -> None:
        """Stops every process of the server, as a hung virtual machine: TCP connects, no answer."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on where it was frozen: an old primary still considers itself the primary."""
        self._signal_all(signal.SIGCONT)

    def release_synchronous_waits(self) -> None:
        """Turns synchronous replication off; a frozen host applies it when it is resumed."""
        assert self._process is not None
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write("synchronous_standby_names = ''\n")
        self._process.send_signal(signal.SIGHUP)

    def promote(self) -> None:
        """Returns when the standby accepts writes, on the next timeline."""
        self.command("pg_ctl", "promote", "-D", self.data, "-w", "-t", str(int(COMMAND_SECONDS)))

    def stop(self) -> None:
        """A clean shutdown; start() brings it back."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """An immediate end, also of a frozen host; start() brings it back."""
        self._end(signal.SIGQUIT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        children = children_of(self._process.pid)
        self._process.send_signal(number)
        self.resume()
        self._process.wait(timeout=COMMAND_SECONDS)
        self._process = None
        eventually(lambda: not any(map(is_running, children)), "PostgreSQL's processes end")

    def dump(self, database: str, file: Path) -> None:
        """Of one database, in pg_dump's custom format."""
        file.write_bytes(self.command("pg_dump", *self._at(database), "-Fc"))

    def restore(self, file: Path, database: str) -> None:
        """Into a new database of that name."""
        self.database().sibling(database)
        readable = self.folder / "restore.dump"
        shutil.copyfile(file, readable)
        readable.chmod(0o644)
        self.command("pg_restore", *self._at(database), "--no-owner", "--exit-on-error", readable)

    def _at(self, database: str) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", database]

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresCluster:
    """A running primary and a running standby of it; fail_over() changes who is which.

    Replication is synchronous until the primary is resumed after a freeze, so that whatever the
    primary confirmed is on the standby too: a test may count losses without allowing for
    replication lag. A resumed old primary confirms on its own, like a host that nobody fenced.
    """

    def __init__(self) -> None:
        self.primary = PostgresHost().initialize().start()
        self.standby = PostgresHost().copy_of(self.primary).start()
        self.hosts = (self.primary, self.standby)  # in the order of the URL
        self.primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.query("SELECT pg_reload_conf()")
        eventually(
            lambda: (
                self.primary.query(
                    "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
                )
                == "1"
            ),
            "the standby replicates synchronously",
        )

    def url(self, database: str, options: str = "target_session_attrs=read-write") -> str:
        """Of both hosts; as an operator configures it."""
        hosts = ",".join(f"127.0.0.1:{host.port}" for host in self.hosts)
        return f"postgres://{USER}@{hosts}/{database}" + (f"?{options}" if options else "")

    def new_database(self, name: str) -> str:
        """The URL of a new database on both hosts."""
        self.primary.database().sibling(name)
        return self.url(name)

    def freeze_primary(self) -> None:
        self.primary.freeze()

    def promote_standby(self) -> None:
        """The standby becomes the primary, alone: it does not wait for a further standby."""
        self.standby.release_synchronous_waits()
        self.standby.promote()

    def resume_old_primary(self) -> None:
        """After freeze_primary() and promote_standby(): unfenced, it accepts writes by itself."""
        self.primary.release_synchronous_waits()
        self.primary.resume()

    def fail_over(self) -> None:
        """Freeze, promote, and end the old primary for good."""
        self.freeze_primary()
        self.promote_standby()
        self.primary.kill()

    def close(self) -> None:
        for host in self.hosts:
            host.close()
