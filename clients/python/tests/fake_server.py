"""A real gRPC server in this process whose answers a test scripts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from winnow.collector.v1 import collector_pb2, collector_service_pb2
from winnow.collector.v1 import collector_service_pb2_grpc as collector_grpc
from winnow.dedup.v1 import dedup_pb2, dedup_service_pb2
from winnow.dedup.v1 import dedup_service_pb2_grpc as dedup_grpc
from winnow.newsfeed.v1 import newsfeed_pb2, newsfeed_service_pb2
from winnow.newsfeed.v1 import newsfeed_service_pb2_grpc as newsfeed_grpc

Context = Any  # grpc.ServicerContext: the stubs' idea of it lacks time_remaining


def make_status(code: grpc.StatusCode, message: str, *details: Message) -> status_pb2.Status:
    status = status_pb2.Status(code=code.value[0], message=message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def unavailable(retry_after: float | None = None) -> status_pb2.Status:
    details: list[Message] = [
        error_details_pb2.ErrorInfo(reason="STORE_UNAVAILABLE", domain="winnow")
    ]
    if retry_after is not None:
        delay = duration_pb2.Duration()
        delay.FromNanoseconds(int(retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    return make_status(grpc.StatusCode.UNAVAILABLE, "PostgreSQL is away", *details)


class Script:
    """What the fake services do: fail with `failures` first, then answer."""

    def __init__(self) -> None:
        self.failures: list[status_pb2.Status] = []
        self.requests: list[Message] = []
        self.metadata: list[dict[str, str | bytes]] = []
        self.time_remaining: list[float] = []
        self.respond: Callable[[Message], Message] | None = None
        # IngestItems: fail the next stream after that many answers.
        self.break_streams_after: list[int] = []
        self.refused_titles: set[str] = set()
        self.stall_at: str | None = None
        self.released = threading.Event()
        self.received: list[str] = []  # titles, as they arrived
        self.stored: list[str] = []  # titles, once each

    def enter(self, request: Message, context: Context) -> None:
        self.requests.append(request)
        self.note(context)
        if self.failures:
            abort(context, self.failures.pop(0))

    def note(self, context: Context) -> None:
        self.metadata.append(dict(context.invocation_metadata()))
        self.time_remaining.append(context.time_remaining() or float("inf"))

    def answer(self, request: Message, default: Message) -> Any:
        return default if self.respond is None else self.respond(request)


def abort(context: Context, status: status_pb2.Status) -> NoReturn:
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
    context.abort(code, status.message)
    raise AssertionError("abort raises")


def unary(default: Callable[[], Message]) -> Callable[..., Any]:
    def method(self: Any, request: Message, context: Context) -> Any:
        self.script.enter(request, context)
        return self.script.answer(request, default())

    return method


class Collector(collector_grpc.CollectorServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    BatchPutItems = unary(collector_service_pb2.BatchPutItemsResponse)
    GetItem = unary(collector_service_pb2.GetItemResponse)
    BatchGetItems = unary(collector_service_pb2.BatchGetItemsResponse)
    ListItems = unary(collector_service_pb2.ListItemsResponse)
    CreateSource = unary(collector_service_pb2.CreateSourceResponse)
    GetSource = unary(collector_service_pb2.GetSourceResponse)
    UpdateSource = unary(collector_service_pb2.UpdateSourceResponse)
    DeleteSource = unary(collector_service_pb2.DeleteSourceResponse)
    ListSources = unary(collector_service_pb2.ListSourcesResponse)
    PauseSource = unary(collector_service_pb2.PauseSourceResponse)
    ResumeSource = unary(collector_service_pb2.ResumeSourceResponse)
    RunSource = unary(collector_service_pb2.RunSourceResponse)
    ListRuns = unary(collector_service_pb2.ListRunsResponse)
    GetQuota = unary(collector_service_pb2.GetQuotaResponse)
    ImportOpml = unary(collector_service_pb2.ImportOpmlResponse)

    def WatchRuns(  # noqa: N802
        self, request: collector_service_pb2.WatchRunsRequest, context: Context
    ) -> Iterator[collector_service_pb2.WatchRunsResponse]:
        self.script.enter(request, context)
        for number in range(2):
            token = f"{request.resume_token}{number}"
            yield collector_service_pb2.WatchRunsResponse(resume_token=token)
        context.abort(grpc.StatusCode.UNAVAILABLE, "shutting down")

    def IngestItems(  # noqa: N802  (the stub's name)
        self, request_iterator: Iterator[Any], context: Context
    ) -> Iterator[collector_service_pb2.IngestItemsResponse]:
        self.script.note(context)
        if self.script.failures:
            abort(context, self.script.failures.pop(0))
        breaks = self.script.break_streams_after
        answers_left = breaks.pop(0) if breaks else None
        for request in request_iterator:
            if answers_left == 0:
                abort(context, unavailable())
            yield self.put(request.item)
            if answers_left is not None:
                answers_left -= 1

    def put(self, item: collector_pb2.Item) -> collector_service_pb2.IngestItemsResponse:
        script = self.script
        script.received.append(item.title)
        if item.title == script.stall_at:
            script.released.wait(60)
        result = collector_service_pb2.PutItemResult()
        if item.title in script.refused_titles:
            violation = error_details_pb2.BadRequest.FieldViolation(
                field="item.url", description="is not absolute"
            )
            result.error.CopyFrom(
                make_status(
                    grpc.StatusCode.INVALID_ARGUMENT,
                    "item.url: is not absolute",
                    error_details_pb2.BadRequest(field_violations=[violation]),
                )
            )
        else:
            created = item.title not in script.stored
            if created:
                script.stored.append(item.title)
            result.stored.CopyFrom(collector_pb2.StoredItem(id=item.title, created=created))
        return collector_service_pb2.IngestItemsResponse(result=result)


class Dedup(dedup_grpc.DedupServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    SubmitDocument = unary(dedup_service_pb2.SubmitDocumentResponse)
    CheckDocument = unary(dedup_service_pb2.CheckDocumentResponse)
    CompareDocuments = unary(dedup_service_pb2.CompareDocumentsResponse)
    GetDecision = unary(dedup_service_pb2.GetDecisionResponse)
    ListDuplicates = unary(dedup_service_pb2.ListDuplicatesResponse)
    GetCitations = unary(dedup_service_pb2.GetCitationsResponse)
    GetPolicy = unary(dedup_service_pb2.GetPolicyResponse)
    UpdatePolicy = unary(dedup_service_pb2.UpdatePolicyResponse)
    PreviewPolicy = unary(dedup_service_pb2.PreviewPolicyResponse)
    ListDecisions = unary(dedup_service_pb2.ListDecisionsResponse)
    ListTopCited = unary(dedup_service_pb2.ListTopCitedResponse)
    OverrideDecision = unary(dedup_service_pb2.OverrideDecisionResponse)
    ListReviewQueue = unary(dedup_service_pb2.ListReviewQueueResponse)
    GetStats = unary(dedup_service_pb2.GetStatsResponse)

    def WatchDecisions(  # noqa: N802
        self, request: dedup_service_pb2.WatchDecisionsRequest, context: Context
    ) -> Iterator[dedup_service_pb2.WatchDecisionsResponse]:
        self.script.note(context)
        for token in ("first", "second"):
            yield dedup_service_pb2.WatchDecisionsResponse(resume_token=token)
        context.abort(grpc.StatusCode.UNAVAILABLE, "shutting down")

    def IngestDocuments(  # noqa: N802
        self, request_iterator: Iterator[Any], context: Context
    ) -> Iterator[dedup_service_pb2.IngestDocumentsResponse]:
        self.script.note(context)
        for request in request_iterator:
            decision = dedup_pb2.Decision(
                document_id=request.document.id, verdict=dedup_pb2.VERDICT_UNIQUE, recorded=True
            )
            yield dedup_service_pb2.IngestDocumentsResponse(decision=decision)


class NewsFeed(newsfeed_grpc.NewsFeedServiceServicer):
    def __init__(self, script: Script) -> None:
        self.script = script

    ListArticles = unary(newsfeed_service_pb2.ListArticlesResponse)
    GetArticle = unary(newsfeed_service_pb2.GetArticleResponse)
    BatchUpsertArticles = unary(newsfeed_service_pb2.BatchUpsertArticlesResponse)
    DeleteArticle = unary(newsfeed_service_pb2.DeleteArticleResponse)
    CreateCategory = unary(newsfeed_service_pb2.CreateCategoryResponse)
    ListCategories = unary(newsfeed_service_pb2.ListCategoriesResponse)
    CountNewArticles = unary(newsfeed_service_pb2.CountNewArticlesResponse)
    SearchArticles = unary(newsfeed_service_pb2.SearchArticlesResponse)
    GetFeedStats = unary(newsfeed_service_pb2.GetFeedStatsResponse)
    RefreshFeed = unary(newsfeed_service_pb2.RefreshFeedResponse)
    GetFeedStatus = unary(newsfeed_service_pb2.GetFeedStatusResponse)
    BatchGetArticles = unary(newsfeed_service_pb2.BatchGetArticlesResponse)
    LookupArticle = unary(newsfeed_service_pb2.LookupArticleResponse)
    UndeleteArticle = unary(newsfeed_service_pb2.UndeleteArticleResponse)
    UpdateCategory = unary(newsfeed_service_pb2.UpdateCategoryResponse)
    MoveCategory = unary(newsfeed_service_pb2.MoveCategoryResponse)
    DeleteCategory = unary(newsfeed_service_pb2.DeleteCategoryResponse)

    def IngestArticles(  # noqa: N802
        self, request_iterator: Iterator[Any], context: Context
    ) -> Iterator[newsfeed_service_pb2.IngestArticlesResponse]:
        self.script.note(context)
        for _ in request_iterator:
            yield newsfeed_service_pb2.IngestArticlesResponse()

    def WatchArticles(  # noqa: N802
        self, request: newsfeed_service_pb2.WatchArticlesRequest, context: Context
    ) -> Iterator[newsfeed_service_pb2.WatchArticlesResponse]:
        self.script.enter(request, context)
        for number in range(2):
            token = f"{request.resume_token}{number}"
            yield newsfeed_service_pb2.WatchArticlesResponse(resume_token=token)
        context.abort(grpc.StatusCode.UNAVAILABLE, "shutting down")


def article_page(
    titles: list[str], next_page_token: str
) -> newsfeed_service_pb2.ListArticlesResponse:
    return newsfeed_service_pb2.ListArticlesResponse(
        articles=[newsfeed_pb2.Article(title=title) for title in titles],
        next_page_token=next_page_token,
    )


class Server:
    """Serves the three fake services on a free loopback port."""

    def __init__(self, credentials: grpc.ServerCredentials | None = None) -> None:
        self.script = Script()
        self._server = grpc.server(ThreadPoolExecutor(max_workers=8))
        collector_grpc.add_CollectorServiceServicer_to_server(Collector(self.script), self._server)
        dedup_grpc.add_DedupServiceServicer_to_server(Dedup(self.script), self._server)
        newsfeed_grpc.add_NewsFeedServiceServicer_to_server(NewsFeed(self.script), self._server)
        if credentials is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            port = self._server.add_secure_port("127.0.0.1:0", credentials)
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def stop(self) -> None:
        self.script.released.set()
        self._server.stop(None).wait(30)
