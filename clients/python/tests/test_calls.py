from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from fake_server import Script, Server, article_page, make_status, unavailable
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

import winnow
from winnow.collector.v1 import collector_service_pb2
from winnow.connection import Connection, channel_options, open_channel
from winnow.dedup.v1 import dedup_service_pb2
from winnow.newsfeed.v1 import newsfeed_service_pb2


def test_unavailable_is_tried_again_until_it_works(
    client: winnow.Winnow, script: Script, delays: list[float]
) -> None:
    script.failures = [unavailable(), unavailable()]
    client.collector.get_item("an-id")
    assert len(script.requests) == 3
    assert len(delays) == 2
    assert 0 <= delays[0] <= 0.1
    assert 0 <= delays[1] <= 0.2


def test_a_retry_waits_as_long_as_the_server_asks(
    client: winnow.Winnow, script: Script, delays: list[float]
) -> None:
    script.failures = [unavailable(7.5)]
    client.collector.get_item("an-id")
    assert delays == [7.5]


def test_retries_end_after_five_tries(client: winnow.Winnow, script: Script) -> None:
    script.failures = [unavailable() for _ in range(9)]
    with pytest.raises(winnow.Unavailable):
        client.collector.get_item("an-id")
    assert len(script.requests) == 5


def test_a_patient_policy_does_not_come_to_an_end_by_arithmetic() -> None:
    policy = winnow.RetryPolicy(attempts=100_000)
    delay = policy.delay(winnow.Unavailable("away"), 99_999)
    assert delay is not None and delay <= policy.max_delay


@pytest.mark.parametrize("name", ["http_proxy", "https_proxy", "grpc_proxy"])
def test_a_proxy_of_the_web_is_not_between_client_and_server(
    name: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "http://127.0.0.1:1")  # where nothing listens
    with winnow.connect(server.address, timeout=30.0, retry=winnow.NO_RETRY) as client:
        client.collector.get_item("an-id")


def test_a_channel_looks_for_its_server_within_a_second() -> None:
    options = dict(channel_options())
    assert options["grpc.max_reconnect_backoff_ms"] == 1000


def test_a_delay_that_outlasts_the_timeout_is_not_waited_for(
    client: winnow.Winnow, script: Script, delays: list[float]
) -> None:
    script.failures = [unavailable(3600.0)]
    with pytest.raises(winnow.Unavailable):
        client.collector.get_item("an-id")
    assert delays == []


def test_only_unavailable_is_tried_again(client: winnow.Winnow, script: Script) -> None:
    for code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED):
        script.requests.clear()
        script.failures = [make_status(code, "no")]
        with pytest.raises(winnow.WinnowError):
            client.collector.get_item("an-id")
        assert len(script.requests) == 1


def test_deleting_a_category_is_never_tried_again(client: winnow.Winnow, script: Script) -> None:
    script.failures = [unavailable()]
    with pytest.raises(winnow.Unavailable):
        client.newsfeed.delete_category("ai")
    assert len(script.requests) == 1


def test_every_call_has_a_deadline(client: winnow.Winnow, script: Script) -> None:
    client.collector.get_item("an-id")
    client.collector.get_item("an-id", timeout=600.0)
    assert script.time_remaining[0] < 40.0  # gRPC rounds deadlines up on the wire
    assert 300.0 < script.time_remaining[1] < 610.0


def test_the_timeout_is_for_all_tries_together(server: Server) -> None:
    now = [1000.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    connection = Connection(
        channel=open_channel(server.address, None), sleep=sleep, clock=lambda: now[0]
    )
    server.script.failures = [unavailable(6.0), unavailable(6.0), unavailable(6.0)]
    with winnow.Winnow(connection) as client, pytest.raises(winnow.Unavailable):
        client.collector.get_item("an-id")
    assert len(server.script.requests) == 2  # 6 s of 10 s are over; another 6 s would be too late
    assert server.script.time_remaining[1] < 5.9


def test_the_bearer_token_is_sent_and_asked_for_each_time(server: Server) -> None:
    tokens = iter(["first-token", "second-token"])
    with winnow.connect(server.address, token=lambda: next(tokens)) as client:
        client.collector.get_item("a")
        client.collector.get_item("b")
    with winnow.connect(server.address, token="fixed") as client:
        client.collector.get_item("c")
    sent = [metadata["authorization"] for metadata in server.script.metadata]
    assert sent == ["Bearer first-token", "Bearer second-token", "Bearer fixed"]


def test_without_a_token_none_is_sent(client: winnow.Winnow, script: Script) -> None:
    client.collector.get_item("a")
    assert "authorization" not in script.metadata[0]


def test_a_timeout_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match="timeout must be positive"):
        winnow.connect(timeout=0)


def test_a_half_given_client_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="cert_file and key_file go together"):
        winnow.connect(tls=winnow.Tls(cert_file="client.pem"))


def test_tls_trusts_the_given_authority_only(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    pair = (key.read_bytes(), cert.read_bytes())
    server = Server(grpc.ssl_server_credentials([pair]))
    try:
        with winnow.connect(server.address, tls=winnow.Tls(ca_file=cert)) as client:
            client.collector.get_item("a")
        strict = winnow.connect(server.address, tls=winnow.Tls(), retry=winnow.NO_RETRY)
        with strict, pytest.raises(winnow.Unavailable):
            strict.collector.get_item("a")
    finally:
        server.stop()


def test_batches_hold_results_and_errors_in_order(client: winnow.Winnow, script: Script) -> None:
    refused = make_status(grpc.StatusCode.INVALID_ARGUMENT, "bad url")
    response = collector_service_pb2.BatchPutItemsResponse()
    response.results.add().stored.created = True
    response.results.add().error.CopyFrom(refused)
    script.respond = lambda request: response
    stored, error = client.collector.batch_put_items([winnow.Item(), winnow.Item()])
    assert isinstance(stored, winnow.StoredItem)
    assert stored.created
    assert isinstance(error, winnow.InvalidArgument)


def test_reads_of_a_batch_hold_items_and_errors(client: winnow.Winnow, script: Script) -> None:
    response = collector_service_pb2.BatchGetItemsResponse()
    response.results.add().error.CopyFrom(make_status(grpc.StatusCode.NOT_FOUND, "none"))
    response.results.add().item.title = "found"
    script.respond = lambda request: response
    error, item = client.collector.batch_get_items(["a", "b"])
    assert isinstance(error, winnow.NotFound)
    assert isinstance(item, winnow.Item)
    assert item.title == "found"


def test_upserts_hold_outcomes_and_errors(client: winnow.Winnow, script: Script) -> None:
    response = newsfeed_service_pb2.BatchUpsertArticlesResponse()
    response.results.add().upserted.outcome = winnow.UpsertOutcome.UPSERT_OUTCOME_MERGED
    response.results.add().error.CopyFrom(make_status(grpc.StatusCode.INVALID_ARGUMENT, "bad"))
    script.respond = lambda request: response
    merged, error = client.newsfeed.batch_upsert_articles([winnow.Article(), winnow.Article()])
    assert isinstance(merged, winnow.UpsertedArticle)
    assert merged.outcome == winnow.UpsertOutcome.UPSERT_OUTCOME_MERGED
    assert isinstance(error, winnow.InvalidArgument)


def test_a_list_is_read_page_by_page_to_the_empty_token(
    client: winnow.Winnow, script: Script
) -> None:
    pages = {
        "": article_page(["a", "b"], "t1"),
        "t1": article_page([], "t2"),  # a rare filter may answer an empty page that goes on
        "t2": article_page(["c"], ""),
    }

    def respond(request: Message) -> Message:
        assert isinstance(request, newsfeed_service_pb2.ListArticlesRequest)
        assert (request.namespace, request.category_id, request.page_size) == ("n", "ai", 2)
        return pages[request.page_token]

    script.respond = respond
    scroll = client.newsfeed.articles(namespace="n", category_id="ai", page_size=2)
    assert [article.title for article in scroll] == ["a", "b", "c"]


def test_pages_are_read_when_they_are_needed(client: winnow.Winnow, script: Script) -> None:
    script.respond = lambda request: article_page(["a"], f"t{len(script.requests)}")
    scroll = client.newsfeed.articles()
    assert next(scroll).title == "a"
    assert len(script.requests) == 1


def test_a_token_that_repeats_ends_with_an_error(client: winnow.Winnow, script: Script) -> None:
    script.respond = lambda request: article_page(["a"], "same")
    with pytest.raises(RuntimeError, match="no progress"):
        list(client.newsfeed.articles())


def test_every_list_has_an_iterator(client: winnow.Winnow, script: Script) -> None:
    items = collector_service_pb2.ListItemsResponse()
    items.items.add().title = "item"
    duplicates = dedup_service_pb2.ListDuplicatesResponse()
    duplicates.duplicates.add().document_id = "duplicate"
    categories = newsfeed_service_pb2.ListCategoriesResponse()
    categories.categories.add().id = "category"
    script.respond = lambda request: items
    assert [item.title for item in client.collector.items()] == ["item"]
    script.respond = lambda request: duplicates
    assert [each.document_id for each in client.dedup.duplicates("original")] == ["duplicate"]
    script.respond = lambda request: categories
    assert [category.id for category in client.newsfeed.categories()] == ["category"]


def test_policy_calls_name_the_fields_that_change(client: winnow.Winnow, script: Script) -> None:
    policy = winnow.Policy(token_threshold=0.75, etag="e")
    client.dedup.get_policy(namespace="n", version=2)
    client.dedup.update_policy(policy, ["token_threshold"], note="why", request_id="once")
    client.dedup.preview_policy(policy, ["token_threshold"], max_documents=10)
    mask = FieldMask(paths=["token_threshold"])
    assert script.requests == [
        dedup_service_pb2.GetPolicyRequest(namespace="n", version=2),
        dedup_service_pb2.UpdatePolicyRequest(
            policy=policy, update_mask=mask, note="why", request_id="once"
        ),
        dedup_service_pb2.PreviewPolicyRequest(policy=policy, update_mask=mask, max_documents=10),
    ]


def test_history_calls_carry_their_filters(client: winnow.Winnow, script: Script) -> None:
    duplicate = winnow.Verdict.VERDICT_DUPLICATE
    assert not list(client.dedup.decisions(verdict=duplicate, channel="c"))
    assert not list(client.dedup.top_cited(page_size=5))
    client.dedup.override_decision("d", duplicate, "why", original_id="o")
    assert not list(client.dedup.review_queue(page_size=3))
    client.dedup.get_stats(namespace="n")
    assert script.requests == [
        dedup_service_pb2.ListDecisionsRequest(verdict=duplicate, channel="c"),
        dedup_service_pb2.ListTopCitedRequest(page_size=5),
        dedup_service_pb2.OverrideDecisionRequest(
            document_id="d", verdict=duplicate, note="why", original_id="o"
        ),
        dedup_service_pb2.ListReviewQueueRequest(page_size=3),
        dedup_service_pb2.GetStatsRequest(namespace="n"),
    ]


def test_a_watch_yields_messages_and_raises_how_it_ended(client: winnow.Winnow) -> None:
    tokens = []
    with pytest.raises(winnow.Unavailable):
        for message in client.dedup.watch_decisions():
            tokens.append(message.resume_token)
    assert tokens == ["first", "second"]


def test_a_watch_of_a_feed_goes_on_after_a_cut(client: winnow.Winnow) -> None:
    watch = client.newsfeed.watch_articles(resume_token="t")
    tokens = [next(watch).resume_token for _ in range(4)]
    assert tokens == ["t0", "t1", "t10", "t11"]


def test_requests_carry_their_arguments(client: winnow.Winnow, script: Script) -> None:
    document = winnow.Document(id="d", channel="c", title="t")
    client.dedup.submit_document(document)
    client.dedup.check_document(document)
    client.dedup.compare_documents(document, document)
    client.dedup.get_decision("d", namespace="n")
    client.dedup.get_citations("d", namespace="n")
    client.newsfeed.get_article("a", namespace="n")
    client.newsfeed.delete_article("a", namespace="n")
    client.newsfeed.create_category(winnow.Category(id="ai"))
    client.newsfeed.count_new_articles("t", namespace="n", category_id="ai")
    assert script.requests == [
        dedup_service_pb2.SubmitDocumentRequest(document=document),
        dedup_service_pb2.CheckDocumentRequest(document=document),
        dedup_service_pb2.CompareDocumentsRequest(earlier=document, later=document),
        dedup_service_pb2.GetDecisionRequest(document_id="d", namespace="n"),
        dedup_service_pb2.GetCitationsRequest(original_id="d", namespace="n"),
        newsfeed_service_pb2.GetArticleRequest(id="a", namespace="n"),
        newsfeed_service_pb2.DeleteArticleRequest(id="a", namespace="n"),
        newsfeed_service_pb2.CreateCategoryRequest(category=winnow.Category(id="ai")),
        newsfeed_service_pb2.CountNewArticlesRequest(namespace="n", category_id="ai", token="t"),
    ]
