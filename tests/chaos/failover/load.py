"""A steady load of writes on all five services, which remembers what was acknowledged and when."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from eventually import eventually
from leg import SERVICES
from titles import unalike_title

import winnow

PAUSE_SECONDS = 0.05  # between the calls of one service to one server
CALL_SECONDS = 5.0  # of one try; the load repeats it until it is acknowledged
START = datetime.now(timezone.utc) - timedelta(hours=6)
KIND = "stt"

# Writes number `number` and returns its key; None where the answer promises nothing.
Write = Callable[[winnow.Winnow, str, int], str | None]


def url_of(number: int) -> str:
    return f"https://outlet-{number}.example/story/{number}"


def item_of(namespace: str, number: int) -> winnow.Item:
    item = winnow.Item(
        namespace=namespace,
        channel=f"channel-{number}",
        url=url_of(number),
        title=unalike_title(number),
    )
    item.publish_time.FromDatetime(START + timedelta(seconds=number % 3600))
    return item


def put_items(client: winnow.Winnow, namespace: str, numbers: Iterable[int]) -> list[str]:
    """All of them, which must be accepted; returns their keys."""
    items = [item_of(namespace, number) for number in numbers]
    for result in client.collector.batch_put_items(items):
        if isinstance(result, winnow.WinnowError):
            raise result
    return [item.url for item in items]


def put_item(client: winnow.Winnow, namespace: str, number: int) -> str:
    (url,) = put_items(client, namespace, [number])
    return url


def submit_document(client: winnow.Winnow, namespace: str, number: int) -> str | None:
    document = winnow.Document(
        namespace=f"{namespace}-direct",
        id=f"document-{number}",
        channel=f"channel-{number}",
        title=unalike_title(number),
    )
    # While its store is away dedup answers without recording: that is not an acknowledgement.
    return document.id if client.dedup.submit_document(document).recorded else None


def upsert_article(client: winnow.Winnow, namespace: str, number: int) -> str:
    article = winnow.Article(
        id=f"article-{number}",
        namespace=f"{namespace}-direct",
        url=url_of(number),
        title=unalike_title(number),
        source=f"channel-{number}",
    )
    article.publish_time.FromDatetime(START + timedelta(seconds=number % 3600))
    (result,) = client.newsfeed.batch_upsert_articles([article])
    if isinstance(result, winnow.WinnowError):
        raise result
    return article.id


def import_comments(client: winnow.Winnow, namespace: str, number: int) -> str:
    comment = {"textOriginal": f"{number}", "publishedAt": "2026-02-01T00:00:00Z"}
    thread = {"id": "c", "snippet": {"topLevelComment": {"id": "c", "snippet": comment}}}
    raw = json.dumps({"kind": "youtube#commentThreadListResponse", "items": [thread]})
    video = f"video-{number}"
    client.classification.import_comments(video, raw.encode(), namespace=namespace)
    return video


def register_job(client: winnow.Winnow, namespace: str, number: int) -> str:
    job = f"{namespace}.{number}"
    client.polling.register_job(KIND, job)
    return job


WRITES: dict[str, Write] = {
    "collector": put_item,
    "dedup": submit_document,
    "newsfeed": upsert_article,
    "classification": import_comments,
    "polling": register_job,
}


def goes_on_for(seconds: float, since: float) -> None:
    """The time that a load is given."""
    eventually(lambda: time.monotonic() >= since + seconds, "the load has had its time")


class Writer(threading.Thread):
    """One service of one server: the same write again and again until it is acknowledged."""

    def __init__(self, service: str, address: str, namespace: str, first: int, step: int) -> None:
        super().__init__(daemon=True)
        self.acknowledged: list[str] = []
        self.times = [time.monotonic()]  # of acknowledgements
        self.last_error = ""
        self._write = WRITES[service]
        self._address = address
        self._namespace = namespace
        self._number = first
        self._step = step
        self._ending = threading.Event()
        self.turn = threading.Lock()  # held during a call, and while the writer is paused

    def run(self) -> None:
        retry = winnow.NO_RETRY
        with winnow.connect(self._address, timeout=CALL_SECONDS, retry=retry) as client:
            while not self._ending.wait(PAUSE_SECONDS):
                with self.turn:
                    self._try(client)

    def _try(self, client: winnow.Winnow) -> None:
        try:
            key = self._write(client, self._namespace, self._number)
        except winnow.WinnowError as error:
            self.last_error = f"{type(error).__name__}: {error}"[:160]
            return
        if key is None:
            self.last_error = "answered without recording"
            return
        self.acknowledged.append(key)
        self.times.append(time.monotonic())
        self._number += self._step

    def end(self) -> None:
        self._ending.set()
        self.join()
        self.times.append(time.monotonic())

    def longest_gap(self) -> float:
        return max(after - before for before, after in pairwise(self.times))


class Load:
    """Writers of every service to every server, from construction to end()."""

    def __init__(
        self, addresses: Sequence[str], namespace: str, services: Sequence[str] = SERVICES
    ) -> None:
        self.namespace = namespace
        self._ended = False
        self._writers = {
            service: [
                Writer(service, address, namespace, 1 + place, len(addresses))
                for place, address in enumerate(addresses)
            ]
            for service in services
        }
        for writer in self._all():
            writer.start()

    def _all(self) -> list[Writer]:
        return [writer for writers in self._writers.values() for writer in writers]

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            for writer in self._all():
                writer.end()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No call is in flight. The pause counts as time without an acknowledgement."""
        with ExitStack() as turns:
            for writer in self._all():
                turns.enter_context(writer.turn)
            yield

    def acknowledged(self, service: str) -> set[str]:
        return {key for writer in self._writers[service] for key in writer.acknowledged}

    def count(self) -> int:
        return sum(len(writer.acknowledged) for writer in self._all())

    def acknowledges(self, since: float) -> bool:
        """Whether every writer has been acknowledged something after that moment."""
        return all(writer.times[-1] > since for writer in self._all())

    def acknowledged_since(self, since: float) -> list[str]:
        """The services of which any writer has been acknowledged something after that moment."""
        return [
            service
            for service, writers in self._writers.items()
            if any(writer.times[-1] > since for writer in writers)
        ]

    def waits_for(self) -> str:
        """The last error of the writers, for messages."""
        found = {
            f"{service}: {writer.last_error}"
            for service, writers in self._writers.items()
            for writer in writers
            if writer.last_error
        }
        return "; ".join(sorted(found))

    def unavailable(self) -> dict[str, float]:
        """The longest time without an acknowledgement, by service, of the worst server."""
        return {
            service: max(writer.longest_gap() for writer in writers)
            for service, writers in self._writers.items()
        }


def goes_on(load: Load, what: str, seconds: float) -> float:
    """Returns when all services of all servers have acknowledged writes for that long, and says
    how long the first acknowledgements took."""
    began = time.monotonic()
    try:
        eventually(lambda: load.acknowledges(began), what, seconds=120)
    except AssertionError as error:
        raise AssertionError(f"{error}; {load.waits_for()}") from None
    took = time.monotonic() - began
    goes_on_for(seconds, began)
    return took
