"""Items in, duplicates out, a feed to scroll."""

from __future__ import annotations

import pytest
from eventually import eventually
from pipeline import START, article, await_feed, decision, feed, item, put, put_in_turn

import winnow

UNIQUE = winnow.Verdict.VERDICT_UNIQUE
DUPLICATE = winnow.Verdict.VERDICT_DUPLICATE


def test_an_item_becomes_an_article(client: winnow.Winnow, namespace: str) -> None:
    client.newsfeed.create_category(
        winnow.Category(namespace=namespace, id="harbour", display_name="Harbour")
    )
    sent = item(namespace, 1, title="Old crane lifts its last container", categories=["harbour"])
    sent.snippet = "Dockers applauded."
    sent.channel_name = "Harbour Gazette"
    sent.image_url = "https://img.example/crane.jpg"
    (stored,) = put(client, [sent])
    assert decision(client, stored).verdict == UNIQUE
    shown = article(client, stored)
    assert (shown.title, shown.snippet) == (sent.title, sent.snippet)
    assert (shown.source, shown.source_name) == (sent.channel, "Harbour Gazette")
    assert shown.thumbnail_url == sent.image_url
    assert shown.publish_time == sent.publish_time
    assert [each.category_id for each in shown.categories] == ["harbour"]
    await_feed(client, namespace, [stored.id], "harbour")
    assert client.collector.get_item(stored.id).title == sent.title


def test_an_item_of_no_known_category_is_uncategorized(
    client: winnow.Winnow, namespace: str
) -> None:
    (stored,) = put(client, [item(namespace, 2, categories=["nobody-made-this"])])
    assert list(article(client, stored).categories) == []
    await_feed(client, namespace, [stored.id], "uncategorized")


def test_a_repeated_story_becomes_a_citation(client: winnow.Winnow, namespace: str) -> None:
    title = "지하철 막차 시간을 금요일부터 30분 늦추기로 했다"
    first = item(namespace, 3, title=title, channel="hangang")
    again = item(namespace, 4, title=f"[속보] {title}", channel="bada", hours=1)
    (original, repeat) = put_in_turn(client, [first, again])
    decided = decision(client, repeat)
    assert decided.verdict == DUPLICATE
    assert decided.original_id == original.id
    assert decided.stage == winnow.Stage.STAGE_EXACT
    assert decision(client, original).verdict == UNIQUE

    cited = eventually(
        lambda: next((a for a in feed(client, namespace) if a.citation_count == 1), None),
        "the citation is counted",
    )
    assert cited.id == original.id
    assert list(cited.citation_channels) == ["bada"]
    await_feed(client, namespace, [original.id])
    (listed,) = client.dedup.duplicates(original.id, namespace=namespace)
    assert (listed.document_id, listed.channel) == (repeat.id, "bada")
    citations = client.dedup.get_citations(original.id, namespace=namespace)
    assert (citations.duplicate_count, citations.channel_count) == (1, 2)


def test_one_address_in_two_forms_is_one_story(client: winnow.Winnow, namespace: str) -> None:
    first = item(namespace, 5, url="https://www.outlet.example/story/5", channel="outlet")
    again = item(namespace, 6, channel="portal", hours=1)
    again.url = "http://m.outlet.example/story/5/?utm_source=portal&amp;fbclid=x#top"
    (original, repeat) = put_in_turn(client, [first, again])
    decided = decision(client, repeat)
    assert (decided.verdict, decided.original_id) == (DUPLICATE, original.id)
    assert decided.stage == winnow.Stage.STAGE_URL


def test_near_equal_titles_are_one_story_by_their_tokens(
    client: winnow.Winnow, namespace: str
) -> None:
    first = item(namespace, 7, title="Night ferry to the islands gets a second boat this April")
    again = item(
        namespace, 8, title="Night ferry to the islands gets second boat this April", hours=1
    )
    (original, repeat) = put_in_turn(client, [first, again])
    decided = decision(client, repeat)
    assert (decided.verdict, decided.original_id) == (DUPLICATE, original.id)
    assert decided.stage == winnow.Stage.STAGE_TOKEN
    assert 0.8 <= decided.similarity < 1.0


def test_after_the_window_an_equal_address_is_merged(client: winnow.Winnow, namespace: str) -> None:
    first = item(namespace, 9, url="https://outlet.example/story/9", channel="outlet")
    later = item(namespace, 10, url="https://outlet.example/story/9", channel="portal", hours=25)
    (original, repeat) = put_in_turn(client, [first, later])
    assert decision(client, repeat).verdict == UNIQUE
    marker = put(client, [item(namespace, 11, hours=26)])[0]
    article(client, marker)
    await_feed(client, namespace, [original.id, marker.id])


def test_putting_an_item_again_answers_the_stored_one(
    client: winnow.Winnow, namespace: str
) -> None:
    sent = item(namespace, 12)
    (stored,) = put(client, [sent])
    changed = item(namespace, 12, title="Another headline for the same page")
    (result,) = client.collector.batch_put_items([changed])
    assert isinstance(result, winnow.StoredItem)
    assert not result.created
    assert result.id == stored.id
    assert client.collector.get_item(result.id).title == sent.title


def test_two_of_one_batch_may_be_one_item(client: winnow.Winnow, namespace: str) -> None:
    twice = [item(namespace, 13), item(namespace, 13)]
    first, second = client.collector.batch_put_items(twice)
    assert isinstance(first, winnow.StoredItem)
    assert isinstance(second, winnow.StoredItem)
    assert first.id == second.id
    assert (first.created, second.created) == (True, False)


def test_namespaces_do_not_meet(client: winnow.Winnow, namespace: str) -> None:
    here, there = namespace, f"{namespace}-other"
    title = "Lighthouse opens as a library and a reading room"
    (one,) = put(client, [item(here, 14, title=title, channel="a")])
    (other,) = put(client, [item(there, 15, title=title, channel="b")])
    assert decision(client, one).verdict == UNIQUE
    assert decision(client, other).verdict == UNIQUE
    article(client, one)
    article(client, other)
    await_feed(client, here, [one.id])
    await_feed(client, there, [other.id])


def test_a_scroll_shows_each_article_once_and_the_newer_token_the_rest(
    client: winnow.Winnow, namespace: str
) -> None:
    # Many on one second: that is what real streams are like.
    sent = [item(namespace, 100 + number, hours=number // 10) for number in range(60)]
    stored = put(client, sent)
    await_feed(client, namespace, [each.id for each in stored])
    first = client.newsfeed.list_articles(namespace=namespace, page_size=7)
    (late,) = put(client, [item(namespace, 199, hours=2)])
    article(client, late)
    rest = client.newsfeed.articles(
        namespace=namespace, page_size=7, page_token=first.next_page_token
    )
    scrolled = [each.id for each in [*first.articles, *rest]]
    assert len(scrolled) == 60
    assert set(scrolled) == {each.id for each in stored}

    def newer() -> list[str]:
        page = client.newsfeed.list_articles(namespace=namespace, page_token=first.newer_token)
        return [each.id for each in page.articles]

    eventually(lambda: newer() == [late.id], "the newer token shows what came since")
    await_feed(client, namespace, [late.id, *scrolled])
    again = feed(client, namespace)
    keys = [(each.publish_time.ToMilliseconds(), each.id) for each in again]
    assert keys == sorted(keys, reverse=True)
    assert len(again) == 61


def test_a_deleted_article_leaves_every_feed(client: winnow.Winnow, namespace: str) -> None:
    kept, gone = put(client, [item(namespace, 16), item(namespace, 17)])
    article(client, kept)
    article(client, gone)
    deleted = client.newsfeed.delete_article(gone.id, namespace=namespace)
    assert client.newsfeed.delete_article(gone.id, namespace=namespace) == deleted
    await_feed(client, namespace, [kept.id])
    # What was decided stays decided.
    assert decision(client, gone).verdict == UNIQUE
    assert client.newsfeed.undelete_article(gone.id, namespace=namespace).id == gone.id
    await_feed(client, namespace, [kept.id, gone.id])


def test_articles_may_be_sent_read_and_found_by_themselves(
    client: winnow.Winnow, namespace: str
) -> None:
    def own(number: int) -> winnow.Article:
        made = winnow.Article(
            namespace=namespace,
            id=f"own-{number}",
            url=f"https://own.example/{number}",
            title=f"Own {number}",
            source="own",
            keywords=["climate" if number % 2 else "solar", "own"],
        )
        made.publish_time.FromSeconds(1_750_000_000 + number)
        return made

    for sent, result in client.newsfeed.ingest_articles(own(number) for number in range(40)):
        assert isinstance(result, winnow.UpsertedArticle)
        assert result.id == sent.id
    got = client.newsfeed.batch_get_articles(["own-1", "nobody"], namespace=namespace)
    assert isinstance(got[0], winnow.Article)
    assert isinstance(got[1], winnow.NotFound)
    found = client.newsfeed.lookup_article(
        "http://www.own.example/7/?utm_source=e2e", namespace=namespace
    )
    assert found.id == "own-7"
    about = winnow.ArticleFilter(keywords="own AND NOT solar")
    shown = client.newsfeed.articles(namespace=namespace, filter=about, page_size=3)
    assert [each.id for each in shown] == [f"own-{number}" for number in range(39, 0, -2)]


def test_categories_are_renamed_moved_and_deleted(client: winnow.Winnow, namespace: str) -> None:
    for id, parent in (("port", ""), ("crane", "port"), ("city", "")):
        client.newsfeed.create_category(
            winnow.Category(namespace=namespace, id=id, parent_id=parent, display_name=id)
        )
    (stored,) = put(client, [item(namespace, 60, categories=["crane"])])
    article(client, stored)
    renamed = client.newsfeed.rename_category("crane", "Cranes", namespace=namespace)
    moved = client.newsfeed.move_category("crane", "city", namespace=namespace, etag=renamed.etag)
    assert (moved.moved_article_count, moved.pending) == (1, False)
    await_feed(client, namespace, [stored.id], "city")
    assert feed(client, namespace, "port") == []
    with pytest.raises(winnow.FailedPrecondition):
        client.newsfeed.delete_category("crane", namespace=namespace)
    client.newsfeed.delete_category("crane", namespace=namespace, force=True)
    await_feed(client, namespace, [stored.id], "uncategorized")
    listed = [each.id for each in client.newsfeed.categories(namespace=namespace)]
    assert listed == ["city", "port"]


def test_items_are_listed_newest_arrival_first(client: winnow.Winnow, namespace: str) -> None:
    stored = put(client, [item(namespace, 20 + number, hours=number) for number in range(5)])
    listed = [each.id for each in client.collector.items(namespace=namespace, page_size=2)]
    assert listed == [each.id for each in reversed(stored)]
    only = list(client.collector.items(namespace=namespace, channel="channel-22"))
    assert [each.id for each in only] == [stored[2].id]
    assert only[0].arrival_time.ToDatetime().hour == (START.hour + 2) % 24


def test_documents_may_be_submitted_by_themselves(client: winnow.Winnow, namespace: str) -> None:
    def document(number: int, channel: str) -> winnow.Document:
        return winnow.Document(
            namespace=namespace,
            id=f"own-{number}",
            channel=channel,
            title="Volunteers finish mapping the last unmapped peat bog",
        )

    checked = client.dedup.check_document(document(0, "a"))
    assert (checked.verdict, checked.recorded) == (UNIQUE, False)
    first = client.dedup.submit_document(document(1, "a"))
    second = client.dedup.submit_document(document(2, "b"))
    assert (first.verdict, first.recorded) == (UNIQUE, True)
    assert (second.verdict, second.original_id) == (DUPLICATE, "own-1")
    repeated = client.dedup.submit_document(document(2, "b"))
    assert repeated.original_id == "own-1"
    stream = client.dedup.ingest_documents([document(3, "c"), document(4, "d")])
    for _, result in stream:
        assert isinstance(result, winnow.Decision)
        assert result.original_id == "own-1"
    compared = client.dedup.compare_documents(document(5, "a"), document(6, "b"))
    assert compared.verdict == DUPLICATE
    assert compared.explanation
