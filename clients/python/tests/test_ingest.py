from __future__ import annotations

import itertools
from collections.abc import Iterator

import grpc
import pytest
from fake_server import Script, make_status, unavailable

import winnow


def items(count: int) -> list[winnow.Item]:
    return [winnow.Item(title=f"item {number}") for number in range(count)]


def test_each_item_comes_back_with_its_result_in_order(
    client: winnow.Winnow, script: Script
) -> None:
    script.refused_titles = {"item 2"}
    results = list(client.collector.ingest_items(items(5)))
    assert [item.title for item, _ in results] == [f"item {number}" for number in range(5)]
    for item, result in results:
        if item.title == "item 2":
            assert isinstance(result, winnow.InvalidArgument)
            assert result.violations[0].field == "item.url"
        else:
            assert isinstance(result, winnow.StoredItem)
            assert result.id == item.title


def test_an_empty_stream_ends(client: winnow.Winnow) -> None:
    assert list(client.collector.ingest_items([])) == []


def test_a_broken_stream_is_resumed_without_loss_or_repeat(
    client: winnow.Winnow, script: Script, delays: list[float]
) -> None:
    script.break_streams_after = [3, 0, 10, 1]
    results = list(client.collector.ingest_items(items(50), window=8))
    assert [item.title for item, _ in results] == [f"item {number}" for number in range(50)]
    assert all(isinstance(result, winnow.StoredItem) for _, result in results)
    assert script.stored == [f"item {number}" for number in range(50)]
    assert len(delays) == 4


def test_a_server_that_stays_away_ends_the_ingest(client: winnow.Winnow, script: Script) -> None:
    script.failures = [unavailable() for _ in range(9)]
    with pytest.raises(winnow.Unavailable):
        list(client.collector.ingest_items(items(5)))
    assert len(script.failures) == 4  # five tries


def test_tries_are_counted_anew_after_progress(client: winnow.Winnow, script: Script) -> None:
    script.break_streams_after = [1] * 20
    assert len(list(client.collector.ingest_items(items(30)))) == 30


def test_other_errors_end_the_stream(client: winnow.Winnow, script: Script) -> None:
    script.failures = [make_status(grpc.StatusCode.UNAUTHENTICATED, "no token")]
    with pytest.raises(winnow.Unauthenticated):
        list(client.collector.ingest_items(items(3)))


def test_the_source_is_read_at_most_a_window_ahead(client: winnow.Winnow, script: Script) -> None:
    taken = 0

    def source() -> Iterator[winnow.Item]:
        nonlocal taken
        for item in items(1000):
            taken += 1
            yield item

    ahead = 0
    for answered, _ in enumerate(client.collector.ingest_items(source(), window=16)):
        ahead = max(ahead, taken - answered)
    assert taken == 1000
    assert ahead <= 17  # the window, and the one just answered


def test_an_error_of_the_source_comes_after_what_came_before_it(
    client: winnow.Winnow, script: Script
) -> None:
    def source() -> Iterator[winnow.Item]:
        yield from items(3)
        raise OSError("disk on fire")

    seen = []
    with pytest.raises(OSError, match="disk on fire"):
        for item, _ in client.collector.ingest_items(source()):
            seen.append(item.title)
    assert seen == ["item 0", "item 1", "item 2"]


def test_a_stream_that_owes_an_answer_for_too_long_is_ended(
    client: winnow.Winnow, script: Script
) -> None:
    script.stall_at = "item 1"
    with pytest.raises(winnow.DeadlineExceeded, match="no answer"):
        list(client.collector.ingest_items(items(3), idle_timeout=0.2))


def test_a_caller_may_stop_early(client: winnow.Winnow, script: Script) -> None:
    endless = (winnow.Item(title=f"item {number}") for number in itertools.count())
    stream = client.collector.ingest_items(endless, window=4)
    first, _ = next(stream)
    assert first.title == "item 0"
    stream.close()  # type: ignore[attr-defined]  # a generator, typed as an iterator
    client.collector.get_item("the connection still works")


def test_a_window_below_one_is_refused(client: winnow.Winnow) -> None:
    with pytest.raises(ValueError, match="window must be at least 1"):
        list(client.collector.ingest_items([], window=0))


def test_documents_are_ingested_the_same_way(client: winnow.Winnow) -> None:
    documents = [winnow.Document(id=str(number)) for number in range(10)]
    decisions = []
    for document, decision in client.dedup.ingest_documents(documents):
        assert isinstance(decision, winnow.Decision)
        assert decision.document_id == document.id
        decisions.append(decision.document_id)
    assert decisions == [str(number) for number in range(10)]
