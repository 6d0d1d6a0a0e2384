"""What readers of one process must see after its store moved: lists, counts, watches, decisions."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from eventually import eventually
from load import KIND, import_comments, register_job, submit_document, upsert_article
from titles import unalike_title
from winnow_process import Server, connect

import winnow

SECONDS = 30.0
_numbers = itertools.count(5_000_000, 1_000)


def check_readers(server: Server, namespace: str) -> list[str]:
    """What does not hold, as sentences; empty when all does."""
    failures: list[str] = []
    for check in (check_feed, check_dedup, check_polling, check_classification):
        try:
            with connect(server.address, timeout=SECONDS) as client:
                check(client, namespace)
        except (AssertionError, winnow.WinnowError) as error:
            failures.append(f"{server.folder.name}: {check.__name__}: {error}")
    return failures


class Watch:
    """Collects what a watch delivers, on a thread of its own."""

    def __init__(self, stream: Iterator[Any]) -> None:
        self.seen: list[Any] = []
        self.error = ""
        self._stream = stream
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            for each in self._stream:
                self.seen.append(each)
        except (winnow.WinnowError, ValueError) as error:  # ValueError: the channel was closed
            self.error = str(error)

    def await_matching(self, matches: Callable[[Any], bool], count: int, what: str) -> None:
        eventually(
            lambda: sum(map(matches, self.seen)) >= count,
            f"{what}; {len(self.seen)} messages came; {self.error}",
            seconds=SECONDS,
        )


def check_feed(client: winnow.Winnow, namespace: str) -> None:
    feed = f"{namespace}-direct"
    token = client.newsfeed.list_articles(namespace=feed, page_size=5).newer_token
    assert client.newsfeed.count_new_articles(token, namespace=feed).article_count == 0
    watch = Watch(client.newsfeed.watch_articles(namespace=feed, resume_token=token))
    first = next(_numbers)
    ids = {upsert_article(client, namespace, first + each) for each in range(3)}

    def counted() -> bool:
        answer = client.newsfeed.count_new_articles(token, namespace=feed)
        return (answer.article_count, answer.exact) == (len(ids), True)

    eventually(counted, "new articles are counted exactly", seconds=SECONDS)
    watch.await_matching(
        lambda each: each.article.article.id in ids, len(ids), "a watch delivers new articles"
    )
    assert not any(each.HasField("gap") for each in watch.seen), "the watch reports a gap"


def check_dedup(client: winnow.Winnow, namespace: str) -> None:
    where = f"{namespace}-direct"
    started = time.monotonic()
    watch = Watch(client.dedup.watch_decisions(namespace=where, timeout=SECONDS))
    number = next(_numbers)
    original = submit_document(client, namespace, number)
    assert original is not None, "dedup records the decision"
    twin = winnow.Document(
        namespace=where, id=f"twin-{number}", channel="another", title=unalike_title(number)
    )
    decision = client.dedup.submit_document(twin)
    assert decision.original_id == original, "the twin repeats the original"
    ids = {original, twin.id}

    def watched() -> bool:
        # The watch begins at the moment it is opened, which a decision may precede.
        more = submit_document(client, namespace, next(_numbers))
        assert more is not None
        ids.add(more)
        seen = (decision for each in watch.seen for decision in each.decisions)
        return any(decision.document_id in ids for decision in seen)

    eventually(watched, f"a watch delivers decisions; {watch.error}", seconds=SECONDS)
    assert time.monotonic() - started < 2 * SECONDS


def check_polling(client: winnow.Winnow, namespace: str) -> None:
    watch = Watch(client.polling.watch_jobs(KIND, timeout=SECONDS))

    def watched() -> bool:
        job = register_job(client, namespace, next(_numbers))
        assert client.polling.get_job(KIND, job).id == job
        return len(watch.seen) > 0

    eventually(watched, f"a watch delivers changes of jobs; {watch.error}", seconds=SECONDS)
    assert client.polling.get_stats(KIND)


def check_classification(client: winnow.Winnow, namespace: str) -> None:
    video = import_comments(client, namespace, next(_numbers))
    run = client.classification.start_run(video, namespace=namespace, activate=True)
    *_, last = client.classification.watch_run(run.id, namespace=namespace)
    assert last.classified_count + last.failed_count == 1, last
