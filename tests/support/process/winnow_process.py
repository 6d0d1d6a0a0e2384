"""The built binary as a child process: servers, and commands against them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from eventually import eventually
from ports import reserve_address
from postgres_admin import Database

import winnow

BINARY = Path(os.environ.get("WINNOW_BINARY", "build/release/bin/winnow")).resolve()
ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "samples" / "items-ko-en.jsonl"
READY = re.compile(
    r"winnow: serving (?P<targets>.*) at (?P<address>\S+:\d+)"
    r"(; metrics at (?P<metrics>http://\S+/metrics))?; (?P<store>.*)\n"
)
# Of a call or a command; as generous as eventually() is.
LIMIT_SECONDS = 180.0
# Of tests that take servers down: whatever the time is that one needs to come back.
PATIENT = winnow.RetryPolicy(attempts=100_000, max_delay=0.5)
# Nothing of the surroundings may decide a test: no proxies, no other server's address.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.lower().endswith("_proxy") and not name.startswith("WINNOW_")
}


def world_folder(purpose: str) -> Path:
    """A new directory that PostgreSQL's user may pass through, whatever TMPDIR and umask are."""
    folder = Path(tempfile.mkdtemp(prefix=f"winnow-{purpose}-", dir="/tmp"))
    folder.chmod(0o755)
    return folder


@dataclass
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def run_winnow(
    *arguments: str | Path,
    stdin: bytes | None = None,
    environment: dict[str, str] | None = None,
    seconds: float = LIMIT_SECONDS,
    binary: Path = BINARY,
) -> Finished:
    done = subprocess.run(
        [str(binary), *map(str, arguments)],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        env={**ENVIRONMENT, **(environment or {})},
        timeout=seconds,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


class Serving(Protocol):
    """What a test of the API needs to know of whatever serves it: one process, or many."""

    @property
    def folder(self) -> Path: ...

    @property
    def address(self) -> str: ...

    @property
    def log(self) -> str:
        """All that was logged."""

    def connect(self, **options: Any) -> winnow.Winnow: ...

    def run(self, *arguments: str | Path, **options: Any) -> Finished:
        """A command against it, with a state directory of its own."""

    def scrape(self) -> str:
        """All metrics."""

    def database(self) -> Database: ...


def metric(serving: Serving, name: str, label: str = "") -> float:
    """The sum of a metric over its labels, or over those that contain `label`."""
    lines = serving.scrape().splitlines()
    samples = [line for line in lines if line.startswith((f"{name} ", f"{name}{{"))]
    return sum(float(line.rpartition(" ")[2]) for line in samples if label in line)


def run_against(serving: Serving, *arguments: str | Path, **options: Any) -> Finished:
    environment = {"XDG_STATE_HOME": str(serving.folder / "state")}
    environment["WINNOW_ADDRESS"] = serving.address
    return run_winnow(*arguments, environment=environment, **options)


@dataclass
class Server:
    """`winnow serve` with a port and a data directory of its own, both kept over restarts."""

    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    address: str = field(default_factory=reserve_address)
    metrics: str = ""
    store: str = ""
    # Signals that the process inherits as ignored, as a script's background job does.
    ignored: tuple[signal.Signals, ...] = ()
    binary: Path = BINARY
    # Its limit on open files, soft and hard; None: this suite's.
    descriptors: int | None = None

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def command(self) -> list[str]:
        config = {"metrics": {"listen": "127.0.0.1:0"}, **self.config}
        (self.folder / "config.json").write_text(json.dumps(config))
        base = [str(self.binary), "serve", "--config", str(self.folder / "config.json")]
        return [*base, "--data-dir", str(self.data_dir), "--listen", self.address, *self.arguments]

    def launch(self, stderr: int | None = None) -> None:
        """Starts the process and does not wait for it to be ready. `stderr`: instead of `log`."""
        # Should this suite be killed, the kernel ends the server.
        # Whatever this suite inherited as ignored (nohup, a background job) is not handed on.
        prefix = ["setpriv", "--pdeathsig", "TERM", "env", "--default-signal"]
        prefix += [f"--ignore-signal={each.name.removeprefix('SIG')}" for each in self.ignored]
        if self.descriptors is not None:
            prefix += ["prlimit", f"--nofile={self.descriptors}:{self.descriptors}"]
        with (self.folder / "out").open("wb") as out, (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*prefix, *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log if stderr is None else stderr,
                env=ENVIRONMENT,
            )

    def start(self) -> Server:
        self.launch()
        return self.await_ready()

    def await_ready(self) -> Server:
        found = eventually(self._ready, "the server is ready", unless=self._why_not)
        assert found["address"] == self.address
        self.metrics = found["metrics"] or ""
        self.store = found["store"]
        return self

    def _ready(self) -> re.Match[str] | None:
        return READY.fullmatch((self.folder / "out").read_text())

    def _why_not(self) -> str | None:
        assert self.process is not None
        code = self.process.poll()
        return None if code is None else f"it ended with {code}:\n{self.log}"

    def scrape(self) -> str:
        with urllib.request.urlopen(self.metrics, timeout=LIMIT_SECONDS) as response:
            text: str = response.read().decode()
            return text

    def database(self) -> Database:
        """That of its private PostgreSQL."""
        (file,) = self.data_dir.rglob("postmaster.pid")
        return Database(Path(file.read_text().splitlines()[4]), "winnow")

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        """How it ended."""
        assert self.process is not None
        code = self.process.wait(timeout=LIMIT_SECONDS)
        self.process = None
        return code

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()

    def close(self) -> None:
        """At the end of a test: nothing is left behind, and nothing is waited for in vain."""
        postmaster = postmaster_pid(self)
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        if postmaster is not None and is_running(postmaster):
            with contextlib.suppress(ProcessLookupError):
                os.kill(postmaster, signal.SIGQUIT)  # PostgreSQL's immediate shutdown
            eventually(lambda: not is_running(postmaster), "the private PostgreSQL ends")
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, **options: Any) -> winnow.Winnow:
        return connect(self.address, **options)

    def run(self, *arguments: str | Path, **options: Any) -> Finished:
        return run_against(self, *arguments, **options)


def connect(address: str, **options: Any) -> winnow.Winnow:
    """With a long deadline by default."""
    return winnow.connect(address, **{"timeout": LIMIT_SECONDS, "retry": PATIENT, **options})


def new_server(purpose: str, **settings: Any) -> Server:
    return Server(folder=world_folder(purpose), **settings)


def postmaster_pid(server: Server) -> int | None:
    """The process of the server's private PostgreSQL; None when it does not run."""
    for file in server.data_dir.rglob("postmaster.pid"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # being written or removed
            return int(file.read_text().splitlines()[0])
    return None


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """Also where nobody takes notice of the end of orphans, which stay as zombies."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")
