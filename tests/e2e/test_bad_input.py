"""Everything that may be wrong with a request is reported by field; the rest is stored."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest
from pipeline import article, item, put

import winnow
from winnow.collector.v1 import collector_service_pb2
from winnow.errors import from_rpc_error

URL = "https://outlet.example/"


def bad_item(change: Callable[[winnow.Item], None], namespace: str) -> winnow.Item:
    made = item(namespace, 1)
    change(made)
    return made


def set_field(name: str, value: object) -> Callable[[winnow.Item], None]:
    return lambda made: setattr(made, name, value)


def add_all(name: str, values: list[str]) -> Callable[[winnow.Item], None]:
    return lambda made: getattr(made, name).extend(values)


def set_seconds(name: str, seconds: int) -> Callable[[winnow.Item], None]:
    def change(made: winnow.Item) -> None:
        getattr(made, name).seconds = seconds

    return change


def clear(*names: str) -> Callable[[winnow.Item], None]:
    def change(made: winnow.Item) -> None:
        for name in names:
            made.ClearField(name)  # type: ignore[arg-type]

    return change


BAD_ITEMS = {
    "namespace with capitals": ("namespace", set_field("namespace", "Not-A-Slug")),
    "namespace too long": ("namespace", set_field("namespace", "n" * 65)),
    "no channel": ("channel", clear("channel")),
    "channel too long": ("channel", set_field("channel", "c" * 129)),
    "external id too long": ("external_id", set_field("external_id", "x" * 513)),
    "neither url nor id": ("external_id", clear("url")),
    "relative url": ("url", set_field("url", "/story/1")),
    "ftp url": ("url", set_field("url", "ftp://outlet.example/1")),
    "url too long": ("url", set_field("url", URL + "a" * 2048)),
    "no title": ("title", clear("title")),
    "title too long": ("title", set_field("title", "제" * 1001)),
    "snippet too long": ("snippet", set_field("snippet", "s" * 20001)),
    "language too long": ("language", set_field("language", "l" * 36)),
    "source name too long": ("channel_name", set_field("channel_name", "n" * 201)),
    "image url too long": ("image_url", set_field("image_url", URL + "i" * 2048)),
    "relative image url": ("image_url", set_field("image_url", "image.png")),
    "relative video url": ("video_url", set_field("video_url", "video")),
    "too many categories": ("source_categories", add_all("source_categories", ["c"] * 33)),
    "category too long": ("source_categories", add_all("source_categories", ["c" * 101])),
    "too many keywords": ("keywords", add_all("keywords", ["k"] * 65)),
    "keyword too long": ("keywords", add_all("keywords", ["k" * 101])),
    "publish time before year 1": ("publish_time", set_seconds("publish_time", -62135596801)),
    "publish time after year 9999": ("publish_time", set_seconds("publish_time", 253402300800)),
    "arrival time after year 9999": ("arrival_time", set_seconds("arrival_time", 253402300800)),
}


@pytest.mark.parametrize(("field", "change"), BAD_ITEMS.values(), ids=BAD_ITEMS.keys())
def test_a_bad_item_is_refused_by_name_and_its_neighbours_go_in(
    client: winnow.Winnow,
    namespace: str,
    field: str,
    change: Callable[[winnow.Item], None],
) -> None:
    batch = [item(namespace, 2), bad_item(change, namespace), item(namespace, 3)]
    before, error, after = client.collector.batch_put_items(batch)
    assert isinstance(before, winnow.StoredItem)
    assert isinstance(after, winnow.StoredItem)
    assert isinstance(error, winnow.InvalidArgument), error
    assert error.reason == "INVALID_FIELD"
    assert any(field in violation.field for violation in error.violations), error
    assert all(violation.description for violation in error.violations)


def test_all_that_is_wrong_is_told_at_once(client: winnow.Winnow, namespace: str) -> None:
    wrong = winnow.Item(namespace=namespace, url="nowhere", snippet="s" * 20001)
    (error,) = client.collector.batch_put_items([wrong])
    assert isinstance(error, winnow.InvalidArgument)
    fields = " ".join(violation.field for violation in error.violations)
    for field in ("channel", "url", "title", "snippet"):
        assert field in fields


def test_limits_are_in_characters_and_are_included(client: winnow.Winnow, namespace: str) -> None:
    widest = item(namespace, 4, title="제" * 1000, channel="채" * 128)
    widest.snippet = "글" * 20000
    widest.url = URL + "a" * (2048 - len(URL))
    (stored,) = put(client, [widest])
    assert client.collector.get_item(stored.id).snippet == widest.snippet


def test_the_first_and_the_last_year_go_through(client: winnow.Winnow, namespace: str) -> None:
    first, last = item(namespace, 5), item(namespace, 6)
    for each, seconds in ((first, -62135596800), (last, 253402300799)):
        each.ClearField("arrival_time")
        each.publish_time.seconds = seconds
        each.publish_time.nanos = 0
    stored_first, stored_last = put(client, [first, last])
    assert article(client, stored_first).publish_time.seconds == -62135596800
    shown = article(client, stored_last)
    assert shown.publish_time_clamped
    assert shown.raw_publish_time.seconds == 253402300799
    assert shown.publish_time.seconds < 253402300799


@pytest.mark.parametrize("count", [0, 1001])
def test_a_batch_has_1_to_1000_items(client: winnow.Winnow, namespace: str, count: int) -> None:
    with pytest.raises(winnow.InvalidArgument) as raised:
        client.collector.batch_put_items([item(namespace, number) for number in range(count)])
    assert raised.value.violations[0].field == "items"


def test_an_article_batch_merges_its_repeats(client: winnow.Winnow, namespace: str) -> None:
    def make(id: str, url: str) -> winnow.Article:
        made = winnow.Article(namespace=namespace, id=id, url=url, title="A title", source="s")
        made.publish_time.GetCurrentTime()
        return made

    one = make("a", f"{URL}1")
    results = client.newsfeed.batch_upsert_articles(
        [one, one, make("b", f"{URL}1?utm_source=x"), make("c", "nowhere")]
    )
    created, unchanged, merged, refused = results
    assert isinstance(created, winnow.UpsertedArticle)
    assert created.outcome == winnow.UpsertOutcome.UPSERT_OUTCOME_CREATED
    assert isinstance(unchanged, winnow.UpsertedArticle)
    assert unchanged.outcome == winnow.UpsertOutcome.UPSERT_OUTCOME_UNCHANGED
    assert isinstance(merged, winnow.UpsertedArticle)
    assert (merged.id, merged.outcome) == ("a", winnow.UpsertOutcome.UPSERT_OUTCOME_MERGED)
    assert isinstance(refused, winnow.InvalidArgument)
    assert "url" in refused.violations[0].field


TOKENS = ["x", "!!", "AAAA", "A" * 5000, "1770000000000"]


@pytest.mark.parametrize("token", TOKENS)
def test_a_malformed_page_token_is_told(client: winnow.Winnow, namespace: str, token: str) -> None:
    known = client.dedup.submit_document(
        winnow.Document(namespace=namespace, id="known", channel="c", title="A known document")
    )
    lists: list[Callable[[], object]] = [
        lambda: client.collector.list_items(namespace=namespace, page_token=token),
        lambda: client.newsfeed.list_articles(namespace=namespace, page_token=token),
        lambda: client.newsfeed.list_categories(namespace=namespace, page_token=token),
        lambda: client.dedup.list_duplicates(
            known.document_id, namespace=namespace, page_token=token
        ),
    ]
    for read in lists:
        with pytest.raises(winnow.InvalidArgument) as raised:
            read()
        assert raised.value.reason == "INVALID_PAGE_TOKEN"
        assert raised.value.violations[0].field == "page_token"


def test_a_token_of_another_list_or_filter_is_told(client: winnow.Winnow, namespace: str) -> None:
    stored = put(client, [item(namespace, 30 + number) for number in range(3)])
    for each in stored:
        article(client, each)
    items = client.collector.list_items(namespace=namespace, page_size=1).next_page_token
    articles = client.newsfeed.list_articles(namespace=namespace, page_size=1).next_page_token
    assert items
    assert articles
    wrong: list[Callable[[], object]] = [
        lambda: client.newsfeed.list_articles(namespace=namespace, page_token=items),
        lambda: client.collector.list_items(namespace=namespace, page_token=articles),
        lambda: client.collector.list_items(namespace="another", page_token=items),
        lambda: client.newsfeed.list_articles(
            namespace=namespace,
            page_token=articles,
            filter=winnow.ArticleFilter(has_image=True),
        ),
    ]
    for read in wrong:
        with pytest.raises(winnow.InvalidArgument) as raised:
            read()
        assert raised.value.reason == "INVALID_PAGE_TOKEN"


def test_a_negative_page_size_is_told_and_a_large_one_cut(
    client: winnow.Winnow, namespace: str
) -> None:
    lists: list[Callable[[int], object]] = [
        lambda size: client.collector.list_items(namespace=namespace, page_size=size),
        lambda size: client.newsfeed.list_articles(namespace=namespace, page_size=size),
        lambda size: client.newsfeed.list_categories(namespace=namespace, page_size=size),
    ]
    for read in lists:
        with pytest.raises(winnow.InvalidArgument) as raised:
            read(-1)
        assert raised.value.violations[0].field == "page_size"
        read(2_000_000_000)


def test_an_unknown_id_is_not_found_by_name(client: winnow.Winnow, namespace: str) -> None:
    missing = "019c1f2e-0000-7000-8000-000000000000"
    lookups: list[Callable[[], object]] = [
        lambda: client.collector.get_item(missing),
        lambda: client.dedup.get_decision(missing, namespace=namespace),
        lambda: client.dedup.list_duplicates(missing, namespace=namespace),
        lambda: client.dedup.get_citations(missing, namespace=namespace),
        lambda: client.newsfeed.get_article(missing, namespace=namespace),
        lambda: client.newsfeed.delete_article(missing, namespace=namespace),
    ]
    for look in lookups:
        with pytest.raises(winnow.NotFound) as raised:
            look()
        assert raised.value.reason == "RESOURCE_NOT_FOUND"
        assert raised.value.metadata["id"] == missing
        assert raised.value.metadata["resource"]


def test_an_id_that_is_none_is_told(client: winnow.Winnow) -> None:
    with pytest.raises(winnow.InvalidArgument) as raised:
        client.collector.get_item("not-a-uuid")
    assert raised.value.violations[0].field == "id"
    found, wrong = client.collector.batch_get_items(
        ["019c1f2e-0000-7000-8000-000000000000", "not-a-uuid"]
    )
    assert isinstance(found, winnow.NotFound)
    assert isinstance(wrong, winnow.InvalidArgument)


def test_categories_are_checked(client: winnow.Winnow, namespace: str) -> None:
    def create(id: str, parent: str = "", name: str = "Name") -> winnow.Category:
        return client.newsfeed.create_category(
            winnow.Category(namespace=namespace, id=id, display_name=name, parent_id=parent)
        )

    assert list(create("tech").path) == ["tech"]
    assert list(create("ai", parent="tech").path) == ["tech", "ai"]
    assert create("tech").etag == create("tech").etag, "it may be repeated"
    with pytest.raises(winnow.AlreadyExists) as taken:
        create("tech", name="Another")
    assert taken.value.metadata["id"] == "tech"
    with pytest.raises(winnow.NotFound):
        create("orphan", parent="nobody")
    for id, name in (("All Caps", "n"), ("all", "n"), ("x" * 65, "n"), ("ok", "")):
        with pytest.raises(winnow.InvalidArgument):
            create(id, name=name)
    with pytest.raises(winnow.NotFound):
        client.newsfeed.list_articles(namespace=namespace, category_id="nobody")
    assert [each.id for each in client.newsfeed.categories(namespace=namespace)] == ["tech", "ai"]


def test_bytes_that_are_no_utf8_are_refused_and_the_connection_goes_on(
    client: winnow.Winnow, namespace: str
) -> None:
    def raw(request: bytes) -> bytes:
        return request

    call = client.connection.channel.unary_unary(
        "/winnow.collector.v1.CollectorService/BatchPutItems",
        request_serializer=raw,
        response_deserializer=raw,
    )
    request = collector_service_pb2.BatchPutItemsRequest(items=[item(namespace, 40, title="XYZ")])
    with pytest.raises(grpc.RpcError) as raised:
        call(request.SerializeToString().replace(b"XYZ", b"\xff\xfe\xfd"), timeout=30)
    error = from_rpc_error(raised.value)
    assert isinstance(error, winnow.InvalidArgument)
    assert error.reason == "INVALID_FIELD"
    assert "UTF-8" in error.message
    put(client, [item(namespace, 41)])


def test_a_document_is_checked_field_by_field(client: winnow.Winnow, namespace: str) -> None:
    wrong = winnow.Document(
        namespace=namespace, id="i" * 129, title="t" * 1001, text="x" * 20001, url="nowhere"
    )
    with pytest.raises(winnow.InvalidArgument) as raised:
        client.dedup.submit_document(wrong)
    fields = " ".join(violation.field for violation in raised.value.violations)
    for field in ("id", "channel", "title", "text", "url"):
        assert field in fields
    good = winnow.Document(namespace=namespace, id="good", channel="c", title="A good document")
    results = [result for _, result in client.dedup.ingest_documents([wrong, good])]
    assert isinstance(results[0], winnow.InvalidArgument)
    assert isinstance(results[1], winnow.Decision)
