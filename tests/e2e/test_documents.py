"""The commands of the READMEs work as written."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_operations import grpcurl
from winnow_process import ROOT, SAMPLES, Finished, Server, new_server

COMMENTS = ROOT / "samples" / "comments-ko-en.json"
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "services").rglob("README.md")))
DEFAULT_ADDRESSES = ("127.0.0.1:7400", "localhost:7400")
# Of a watch, which has no end of its own: long enough to be asked for, by grpcurl's clock.
WATCH_SECONDS = "3"
# 64 and the status: what an example speaks of may not be there, or not be ready for it.
NOT_FOUND, FAILED_PRECONDITION, DEADLINE_EXCEEDED = 69, 73, 68


def grpcurl_commands(document: str) -> Iterator[list[str]]:
    """The arguments of each grpcurl of its code blocks; quotes may go over several lines."""
    for block in re.findall(r"^```(?:sh)?\n(.*?)^```", document, re.DOTALL | re.MULTILINE):
        lines = iter(block.replace("\\\n", " ").splitlines())
        for line in lines:
            if not line.startswith("grpcurl "):
                continue
            while line.count("'") % 2:
                line += " " + next(lines)
            yield shlex.split(line, comments=True)[1:]


def examples() -> list[tuple[str, list[str]]]:
    return [
        (f"{path.relative_to(ROOT)}: {' '.join(command)}", command)
        for path in DOCUMENTS
        for command in grpcurl_commands(path.read_text())
    ]


pytestmark = pytest.mark.one_process("a newcomer has one, with the samples in `default`")


@pytest.fixture(scope="module")
def sampled() -> Iterator[Server]:
    """A server as ./x run leaves it, and the sample of comments."""
    server = new_server("documents")
    try:
        server.start()
        done = server.run("import", SAMPLES, "--create-categories")
        assert done.code == 0, done.err
        done = server.run("classify", "import", COMMENTS, "--video", "winter-greenhouse")
        assert done.code == 0, done.err
        yield server
    finally:
        server.close()


def run_example(server: Server, command: list[str], newer_token: str) -> Finished:
    """As it stands, but at the server's address, with a token of its own, and to an end."""
    arguments = [each.replace("NEWER_TOKEN", newer_token) for each in command]
    at = next(i for i, each in enumerate(arguments) if each in DEFAULT_ADDRESSES)
    flags = ["-max-time", WATCH_SECONDS] if "/Watch" in arguments[-1] else []
    return grpcurl(server, *arguments[1:at], *flags, *arguments[at + 1 :], flags=("-plaintext",))


def test_every_grpcurl_of_the_documents_works(sampled: Server) -> None:
    page = grpcurl(sampled, "winnow.newsfeed.v1.NewsFeedService/ListArticles").json()
    cases = examples()
    assert len(cases) > 20
    with ThreadPoolExecutor(4) as pool:
        token = page["newer_token"]
        ended = list(pool.map(lambda each: run_example(sampled, each[1], token), cases))
    wrong = []
    for (example, command), done in zip(cases, ended, strict=True):
        good = {0, NOT_FOUND, FAILED_PRECONDITION}
        if "/Watch" in command[-1]:
            good.add(DEADLINE_EXCEEDED)
        if done.code not in good:
            wrong.append(f"{example}\n  {done.code}: {done.err}")
    assert not wrong, "\n".join(wrong)


def test_the_search_of_the_documents_finds_something(sampled: Server) -> None:
    (search,) = [each for _, each in examples() if each[-1].endswith("/SearchArticles")]
    assert run_example(sampled, search, "").json()["articles"]


def test_the_python_of_the_readme_prints_the_feed(sampled: Server) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code.replace(DEFAULT_ADDRESSES[0], sampled.address), {})
    assert "Old lighthouse opens as a library and reading room" in printed.getvalue()


def test_every_comment_of_the_samples_has_a_verdict(sampled: Server) -> None:
    with sampled.connect() as client:
        counts = client.classification.count_classifications("winter-greenhouse")
        assert counts.unclassified == 0
        assert counts.normal + counts.filtered + counts.content_suggestion == 24
        assert min(counts.normal, counts.filtered, counts.content_suggestion) > 0
