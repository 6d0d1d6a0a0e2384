"""Lists the files that a request executes, for the tables of ARCHITECTURE.md.

Usage: tools/coverage/flows.py BUILD_DIR
Build first, with coverage and without optimisation:
  cmake --preset release -B BUILD_DIR -DCMAKE_CXX_FLAGS="--coverage -O0"
  cmake --build BUILD_DIR --target winnow

Each flow is run twice on a new server: up to the request, and with it. A file belongs to the flow
if the second run executes a line of it that the first does not. services/platform is left out.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support" / "sync"))
from eventually import eventually  # type: ignore[import-not-found]  # noqa: E402

Lines = dict[str, set[int]]
Step = Callable[["Server"], object]
COLLECTOR = "winnow.collector.v1.CollectorService"
NEWSFEED = "winnow.newsfeed.v1.NewsFeedService"
POLLING = "winnow.polling.v1.PollingRegistryService"
CLASSIFICATION = "winnow.classification.v1.ClassificationService"


class Server:
    def __init__(self, build: Path, folder: Path) -> None:
        address = folder / "address"
        command = [str(build / "bin" / "winnow"), "serve", "--listen", "127.0.0.1:0"]
        command += ["--metrics", "off", "--data-dir", str(folder / "data")]
        command += ["--address-file", str(address)]
        self.process = subprocess.Popen(command, stderr=(folder / "log").open("w"))
        eventually(address.exists, "the server is ready")
        self.address = address.read_text().strip()

    def call(self, method: str, request: object) -> dict:  # type: ignore[type-arg]
        grpcurl = str(ROOT / ".tools" / "bin" / "grpcurl")
        command = [grpcurl, "-plaintext", "-d", json.dumps(request), self.address, method]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout or "{}"))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def put_item(server: Server) -> None:
    item = {"channel": "example", "title": "A river garden opens", "url": "https://example.com/1"}
    server.call(f"{COLLECTOR}/BatchPutItems", {"items": [item]})
    feed = f"{NEWSFEED}/ListArticles"
    eventually(lambda: server.call(feed, {}).get("articles"), "the article is in the feed")


def list_page(server: Server) -> None:
    server.call(f"{NEWSFEED}/ListArticles", {"pageSize": 5})


def register_job(server: Server) -> None:
    policy = {"states": ["processing"], "lease": "1s"}
    server.call(f"{POLLING}/UpdatePolicy", {"kind": "stt", "policy": policy})
    server.call(f"{POLLING}/RegisterJob", {"kind": "stt", "job": {"id": "1"}})


def claim_and_lose(server: Server) -> None:
    server.call(f"{POLLING}/ClaimJobs", {"kind": "stt", "owner": "flows"})
    job = {"kind": "stt", "id": "1"}
    eventually(
        lambda: server.call(f"{POLLING}/GetJob", job)["job"]["phase"] == "JOB_PHASE_WAITING",
        "the lost lease is swept",
    )


def import_comments(server: Server) -> None:
    raw = base64.b64encode((ROOT / "samples" / "comments-ko-en.json").read_bytes()).decode()
    server.call(f"{CLASSIFICATION}/ImportComments", {"videoId": "v", "raw": raw})


def run_and_swap(server: Server) -> None:
    request = {"videoId": "v", "activate": True, "requestId": "flows"}
    run = {"runId": server.call(f"{CLASSIFICATION}/StartRun", request)["run"]["id"]}
    eventually(
        lambda: server.call(f"{CLASSIFICATION}/GetRun", run)["run"].get("active"), "it is active"
    )


FLOWS: dict[str, tuple[list[Step], Step]] = {
    "an item to its article": ([], put_item),
    "a feed page": ([put_item], list_page),
    "a claim and its sweep": ([register_job], claim_and_lose),
    "a run and its swap": ([import_comments], run_and_swap),
}


def lines_of(counts: Path) -> Lines:
    command = ["gcov", "--json-format", "--stdout", str(counts)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tempfile.gettempdir())
    lines: Lines = defaultdict(set)
    for text in done.stdout.splitlines():
        report = json.loads(text)
        for file in report["files"]:
            path = (Path(report["current_working_directory"]) / file["file"]).resolve()
            if not path.is_relative_to(ROOT / "services"):
                continue
            name = str(path.relative_to(ROOT / "services"))
            if not name.startswith("platform/"):
                lines[name] |= {line["line_number"] for line in file["lines"] if line["count"]}
    return lines


def executed(build: Path, steps: list[Step]) -> Lines:
    for counts in build.rglob("*.gcda"):
        counts.unlink()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a PostgreSQL of root's runs as postgres
        server = Server(build, Path(folder))
        for step in steps:
            step(server)
        server.stop()
    lines: Lines = defaultdict(set)
    with ThreadPoolExecutor() as pool:
        for each in pool.map(lines_of, (build / "services").rglob("*.gcda")):
            for name, numbers in each.items():
                lines[name] |= numbers
    return lines


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv else 2)
    build = Path(sys.argv[1]).resolve()
    for title, (before, step) in FLOWS.items():
        without, with_it = executed(build, before), executed(build, [*before, step])
        files = sorted(name for name, lines in with_it.items() if lines - without.get(name, set()))
        sources = {name.removesuffix(".cc") for name in files if name.endswith(".cc")}
        listed = [name for name in files if name.removesuffix(".h") not in sources]
        print(f"{title}: {len(listed)} files, a header with its .cc as one")
        print("".join(f"  {name}\n" for name in listed))


if __name__ == "__main__":
    main()
