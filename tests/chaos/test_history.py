"""After a failover, and after a dump was restored elsewhere, every service is of the new history:
lists, counts, decisions, registries and watches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from eventually import eventually
from postgres_cluster import PostgresCluster, PostgresHost
from winnow_process import PATIENT, Server, run_winnow

import winnow
from winnow import newsfeed_client
from winnow.classification.v1 import classification_pb2
from winnow.collector.v1 import source_pb2

ARTICLES = 30
NEVER_SECONDS = 600.0


def upsert(client: winnow.Winnow, prefix: str) -> list[str]:
    ids = [f"{prefix}-{number}" for number in range(ARTICLES)]
    articles = []
    for id in ids:
        article = newsfeed_client.Article(id=id, url=f"https://n.example/{id}", title=f"T {id}")
        article.source = "outlet"
        article.publish_time.GetCurrentTime()
        articles.append(article)
    results = client.newsfeed.batch_upsert_articles(articles)
    assert not [each for each in results if isinstance(each, winnow.WinnowError)]
    return ids


def title_of(number: int) -> str:
    words = ("harbour", "budget", "festival", "glacier", "orchard", "satellite")
    return " ".join(f"{word}{number}" for word in words)


def submit(client: winnow.Winnow, id: str, number: int) -> winnow.Decision:
    document = winnow.Document(id=id, channel=f"outlet {id}", title=title_of(number))
    return client.dedup.submit_document(document)


class Watch(threading.Thread):
    """Follows a watch as a client does: a token that is refused is dropped, a cut is resumed."""

    def __init__(self, open_watch: Callable[[str], Iterator[Any]]) -> None:
        super().__init__(daemon=True)
        self._open = open_watch
        self._ended = threading.Event()
        self.answers: list[Any] = []
        self.gaps = 0
        self._is_current = False
        self.start()
        eventually(lambda: self.answers, "the watch has begun")

    def run(self) -> None:
        token = ""
        while not self._ended.is_set():
            try:
                for answer in self._open(token):
                    self._note(answer)
                    token = answer.resume_token
                    if self._ended.is_set():
                        return
            except winnow.InvalidArgument:  # "it is of a history that the database no longer has"
                self.gaps += 1
                self._is_current = False
                token = ""
            except winnow.WinnowError:
                self._ended.wait(0.05)

    def _note(self, answer: Any) -> None:
        names = {field.name for field, _ in answer.ListFields()}
        self.gaps += "gap" in names
        self.answers.append(answer)
        self._is_current = True

    def is_of_the_new_history(self) -> bool:
        """It was shown a gap and has an answer since: what comes later is shown."""
        return self.gaps > 0 and self._is_current

    def mentions(self, text: str) -> bool:
        return any(text in str(answer) for answer in list(self.answers))

    def stop(self) -> None:
        self._ended.set()


class Readers:
    """One watch of each service, open before the history changes."""

    def __init__(self, client: winnow.Winnow) -> None:
        calls = client
        self.watches = {
            "newsfeed": Watch(lambda token: calls.newsfeed.watch_articles(resume_token=token)),
            "dedup": Watch(
                lambda token: calls.dedup.watch_decisions(resume_token=token, timeout=NEVER_SECONDS)
            ),
            "polling": Watch(
                lambda token: calls.polling.watch_jobs(
                    "stt", resume_token=token, timeout=NEVER_SECONDS
                )
            ),
            "collector": Watch(lambda token: calls.collector.watch_runs(resume_token=token)),
            "classification": Watch(
                lambda token: calls.classification.watch_classifications(
                    resume_token=token, timeout=NEVER_SECONDS
                )
            ),
        }

    def stop(self) -> None:
        for watch in self.watches.values():
            watch.stop()


def write_all(client: winnow.Winnow, prefix: str, number: int) -> None:
    """Something that each watch shows; it mentions `prefix`."""
    upsert(client, prefix)
    assert submit(client, f"{prefix}-document", number).recorded
    client.polling.register_job("stt", f"{prefix}-job")
    feed = source_pb2.FeedSource(url="https://127.0.0.1:9/feed")  # a refused run ends as well
    client.collector.create_source(winnow.Source(id=f"{prefix}-source", feed=feed))
    comments = b'[{"id":"c1","text":"hello"}]'
    client.classification.import_comments(f"{prefix}-video", comments)
    client.classification.override_classification(
        f"{prefix}-video", "c1", classification_pb2.COMMENT_STATUS_FILTERED
    )


def assert_serves_the_old(client: winnow.Winnow, prefix: str, number: int) -> None:
    shown = list(client.newsfeed.articles(page_size=50))
    assert {each.id for each in shown} >= {f"{prefix}-{each}" for each in range(ARTICLES)}
    duplicate = submit(client, f"{prefix}-again", number)
    assert duplicate.verdict == winnow.Verdict.VERDICT_DUPLICATE
    assert duplicate.original_id == f"{prefix}-document"
    assert f"{prefix}-job" in {job.id for job in client.polling.jobs("stt")}
    assert f"{prefix}-source" in {source.id for source in client.collector.sources()}


def check(server: Server, change: Callable[[], None]) -> None:
    with server.connect(retry=PATIENT) as client:
        write_all(client, "before", 1)
        readers = Readers(client)
        try:
            old_token = client.newsfeed.list_articles().newer_token
            change()
            eventually(lambda: answers(server), "the server writes again")
            assert_serves_the_old(client, "before", 1)
            # Memory is of the new history once its tailer has seen that; then tokens are too.
            eventually(lambda: counts_exactly(client), "a fresh token counts")
            for name, watch in readers.watches.items():
                eventually(watch.is_of_the_new_history, f"{name}'s watch knows of the change")
            fresh = client.newsfeed.list_articles().newer_token
            write_all(client, "after", 2)
            newer = client.newsfeed.count_new_articles(fresh)
            assert (newer.article_count, newer.exact) == (ARTICLES, True)
            assert not client.newsfeed.count_new_articles(old_token).exact
            for name, watch in readers.watches.items():
                eventually(partial(watch.mentions, "after"), f"{name}'s watch goes on")
                assert watch.gaps == 1, f"{name}: {watch.answers}"
            assert_serves_the_old(client, "after", 2)
        finally:
            readers.stop()


def counts_exactly(client: winnow.Winnow) -> bool:
    token = client.newsfeed.list_articles().newer_token
    return client.newsfeed.count_new_articles(token).exact


def answers(server: Server) -> bool:
    try:
        with server.connect(timeout=10.0, retry=winnow.NO_RETRY) as client:
            client.polling.register_job("stt", "is-anybody-there")
            return True
    except winnow.WinnowError:
        return False


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    made = PostgresCluster()
    yield made
    made.close()


def test_every_service_goes_on_after_a_failover(
    cluster: PostgresCluster, make_server: Callable[..., Server]
) -> None:
    url = cluster.new_database("winnow")
    config = {"postgres": {"url": url, "migrate_on_start": True}}
    check(make_server(config=config).start(), cluster.fail_over)


def test_every_service_goes_on_after_a_restore_that_was_accepted(
    make_server: Callable[..., Server], tmp_path: Path
) -> None:
    old = PostgresHost().initialize().start()
    new = PostgresHost().initialize()
    try:
        new.port = old.port
        old.database().sibling("winnow")
        url = f"postgres://winnow@127.0.0.1:{old.port}/winnow"
        server = make_server(config={"postgres": {"url": url, "migrate_on_start": True}}).start()

        def restore() -> None:
            old.dump("winnow", tmp_path / "dump")
            old.stop()
            new.start().restore(tmp_path / "dump", "winnow")
            eventually(lambda: "was not accepted" in server.log, "the restored one is refused")
            assert not answers(server)
            config = str(server.folder / "config.json")
            refused = run_winnow("migrate", "--config", config)
            assert refused.code != 0 and "winnow migrate --accept-system" in refused.err
            done = run_winnow("migrate", "--config", config, "--accept-system")
            assert done.code == 0, done.err
            assert "is accepted" in done.out

        check(server, restore)
    finally:
        old.close()
        new.close()
