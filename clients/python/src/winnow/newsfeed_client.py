"""NewsFeedService: feeds that scroll without end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import grpc
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from winnow import ingest, paging
from winnow.connection import Connection
from winnow.errors import WinnowError, from_rpc_error, from_status
from winnow.newsfeed.v1 import newsfeed_pb2, newsfeed_service_pb2
from winnow.newsfeed.v1.newsfeed_service_pb2_grpc import NewsFeedServiceStub

Article = newsfeed_pb2.Article
ArticleCategory = newsfeed_pb2.ArticleCategory
Category = newsfeed_pb2.Category
ArticleFilter = newsfeed_service_pb2.ArticleFilter
ListArticlesResponse = newsfeed_service_pb2.ListArticlesResponse
ListCategoriesResponse = newsfeed_service_pb2.ListCategoriesResponse
CountNewArticlesResponse = newsfeed_service_pb2.CountNewArticlesResponse
UpsertedArticle = newsfeed_service_pb2.UpsertedArticle
UpsertOutcome = newsfeed_service_pb2.UpsertOutcome
MoveCategoryResponse = newsfeed_service_pb2.MoveCategoryResponse
DeleteCategoryResponse = newsfeed_service_pb2.DeleteCategoryResponse
FeedCounter = newsfeed_service_pb2.FeedCounter
GetFeedStatusResponse = newsfeed_service_pb2.GetFeedStatusResponse
RefreshFeedResponse = newsfeed_service_pb2.RefreshFeedResponse
SearchArticlesResponse = newsfeed_service_pb2.SearchArticlesResponse
StatsDimension = newsfeed_service_pb2.StatsDimension
WatchArticlesResponse = newsfeed_service_pb2.WatchArticlesResponse


class NewsFeedClient:
    """Typed calls of winnow.newsfeed.v1.NewsFeedService."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = NewsFeedServiceStub(connection.channel)

    def list_articles(
        self,
        *,
        namespace: str = "",
        category_id: str = "",
        filter: ArticleFilter | None = None,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ListArticlesResponse:
        """One page of a feed, newest first. Keep the other arguments the same over a scroll."""
        request = newsfeed_service_pb2.ListArticlesRequest(
            namespace=namespace,
            category_id=category_id,
            filter=filter,
            page_size=page_size,
            page_token=page_token,
        )
        return self._connection.unary(self._stub.ListArticles, request, timeout=timeout)

    def articles(
        self,
        *,
        namespace: str = "",
        category_id: str = "",
        filter: ArticleFilter | None = None,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> Iterator[Article]:
        """A whole scroll, from the newest article (or `page_token`) to the last."""

        def fetch(token: str) -> tuple[Sequence[Article], str]:
            page = self.list_articles(
                namespace=namespace,
                category_id=category_id,
                filter=filter,
                page_size=page_size,
                page_token=token,
                timeout=timeout,
            )
            return page.articles, page.next_page_token

        return paging.iterate(fetch, page_token)

    def count_new_articles(
        self,
        token: str,
        *,
        namespace: str = "",
        category_id: str = "",
        filter: ArticleFilter | None = None,
        timeout: float | None = None,
    ) -> CountNewArticlesResponse:
        """How many articles came since `token`, a newer_token or next_page_token of this feed."""
        request = newsfeed_service_pb2.CountNewArticlesRequest(
            namespace=namespace, category_id=category_id, filter=filter, token=token
        )
        return self._connection.unary(self._stub.CountNewArticles, request, timeout=timeout)

    def watch_articles(
        self,
        *,
        namespace: str = "",
        category_id: str = "",
        filter: ArticleFilter | None = None,
        resume_token: str = "",
    ) -> Iterator[WatchArticlesResponse]:
        """What happens to a feed, until the iterator is closed. Resumes by itself after a cut.

        Keep the resume_token of the last response to go on later.
        """
        failures = 0
        while True:
            request = newsfeed_service_pb2.WatchArticlesRequest(
                namespace=namespace,
                category_id=category_id,
                filter=filter,
                resume_token=resume_token,
            )
            call = self._stub.WatchArticles(request, metadata=self._connection.metadata())
            try:
                for response in call:
                    failures = 0
                    resume_token = response.resume_token
                    yield response
                return
            except grpc.RpcError as raised:
                error = from_rpc_error(raised)
                failures += 1
                delay = self._connection.retry.delay(error, failures)
                if delay is None:
                    raise error from raised
                self._connection.sleep(delay)
            finally:
                call.cancel()  # type: ignore[no-untyped-call]  # grpc-stubs leaves it untyped

    def search_articles(
        self,
        query: str,
        *,
        namespace: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> SearchArticlesResponse:
        """One page of what is found in titles and snippets, newest first."""
        request = newsfeed_service_pb2.SearchArticlesRequest(
            namespace=namespace, query=query, page_size=page_size, page_token=page_token
        )
        return self._connection.unary(self._stub.SearchArticles, request, timeout=timeout)

    def search(
        self, query: str, *, namespace: str = "", page_size: int = 0, timeout: float | None = None
    ) -> Iterator[Article]:
        """All that is found, newest first. `timeout` is per page."""

        def fetch(token: str) -> tuple[Sequence[Article], str]:
            page = self.search_articles(
                query, namespace=namespace, page_size=page_size, page_token=token, timeout=timeout
            )
            return page.articles, page.next_page_token

        return paging.iterate(fetch)

    def feed_stats(
        self,
        dimension: newsfeed_service_pb2.StatsDimension.ValueType,
        *,
        namespace: str = "",
        days: int = 0,
        limit: int = 0,
        timeout: float | None = None,
    ) -> list[FeedCounter]:
        """What came per day, by category, source or channel; largest first."""
        request = newsfeed_service_pb2.GetFeedStatsRequest(
            namespace=namespace, dimension=dimension, days=days, limit=limit
        )
        response = self._connection.unary(self._stub.GetFeedStats, request, timeout=timeout)
        return list(response.counters)

    def refresh_feed(
        self, *, namespace: str = "", category_id: str = "", timeout: float | None = None
    ) -> RefreshFeedResponse:
        """Has the answering process read a feed into memory, and into Redis, again."""
        request = newsfeed_service_pb2.RefreshFeedRequest(
            namespace=namespace, category_id=category_id
        )
        return self._connection.unary(self._stub.RefreshFeed, request, timeout=timeout)

    def feed_status(
        self, *, namespace: str = "", category_id: str = "", timeout: float | None = None
    ) -> GetFeedStatusResponse:
        """How the answering process serves a feed."""
        request = newsfeed_service_pb2.GetFeedStatusRequest(
            namespace=namespace, category_id=category_id
        )
        return self._connection.unary(self._stub.GetFeedStatus, request, timeout=timeout)

    def get_article(self, id: str, *, namespace: str = "", timeout: float | None = None) -> Article:
        """Reads one article. Raises NotFound, also for a deleted one."""
        request = newsfeed_service_pb2.GetArticleRequest(namespace=namespace, id=id)
        return self._connection.unary(self._stub.GetArticle, request, timeout=timeout).article

    def batch_get_articles(
        self, ids: Sequence[str], *, namespace: str = "", timeout: float | None = None
    ) -> list[Article | WinnowError]:
        """Reads up to 1,000 articles. A missing one's place holds its error."""
        request = newsfeed_service_pb2.BatchGetArticlesRequest(namespace=namespace, ids=ids)
        response = self._connection.unary(self._stub.BatchGetArticles, request, timeout=timeout)
        return [
            from_status(result.error) if result.HasField("error") else result.article
            for result in response.results
        ]

    def lookup_article(
        self, url: str, *, namespace: str = "", timeout: float | None = None
    ) -> Article:
        """Reads the article of a web page, whatever form its URL has. Raises NotFound."""
        request = newsfeed_service_pb2.LookupArticleRequest(namespace=namespace, url=url)
        return self._connection.unary(self._stub.LookupArticle, request, timeout=timeout).article

    def batch_upsert_articles(
        self, articles: Sequence[Article], *, timeout: float | None = None
    ) -> list[UpsertedArticle | WinnowError]:
        """Stores up to 1,000 articles. They fail alone: a refused one's place holds its error.

        One with `revision` set changes only the article of that revision (else Aborted).
        """
        request = newsfeed_service_pb2.BatchUpsertArticlesRequest(articles=articles)
        response = self._connection.unary(self._stub.BatchUpsertArticles, request, timeout=timeout)
        return [_upsert_result(result) for result in response.results]

    def ingest_articles(
        self,
        articles: Iterable[Article],
        *,
        window: int = ingest.DEFAULT_WINDOW,
        idle_timeout: float = ingest.DEFAULT_IDLE_TIMEOUT,
    ) -> Iterator[tuple[Article, UpsertedArticle | WinnowError]]:
        """Stores any number of articles over one flow-controlled stream.

        Yields each article with what became of it, in order; `articles` is read as the server takes
        them in, at most `window` ahead of the answers. A lost connection is made again and what was
        not answered is sent again. `idle_timeout`: seconds that an answer may take.
        """
        requests = (newsfeed_service_pb2.IngestArticlesRequest(article=each) for each in articles)
        answers = ingest.ingest(
            self._connection,
            self._stub.IngestArticles,
            requests,
            window=window,
            idle_timeout=idle_timeout,
        )
        for request, response in answers:
            yield request.article, _upsert_result(response.result)

    def delete_article(
        self, id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Timestamp:
        """Takes an article out of every feed; answers when it was deleted (first)."""
        request = newsfeed_service_pb2.DeleteArticleRequest(namespace=namespace, id=id)
        response = self._connection.unary(self._stub.DeleteArticle, request, timeout=timeout)
        return response.delete_time

    def undelete_article(
        self, id: str, *, namespace: str = "", timeout: float | None = None
    ) -> Article:
        """Brings a deleted article back into its feeds, where it counts as new."""
        request = newsfeed_service_pb2.UndeleteArticleRequest(namespace=namespace, id=id)
        return self._connection.unary(self._stub.UndeleteArticle, request, timeout=timeout).article

    def create_category(self, category: Category, *, timeout: float | None = None) -> Category:
        """Creates a category, or answers the one that is there with this name and parent.

        Raises AlreadyExists (with another name or parent), NotFound (parent).
        """
        request = newsfeed_service_pb2.CreateCategoryRequest(category=category)
        return self._connection.unary(self._stub.CreateCategory, request, timeout=timeout).category

    def rename_category(
        self,
        id: str,
        display_name: str,
        *,
        namespace: str = "",
        etag: str = "",
        timeout: float | None = None,
    ) -> Category:
        """Changes a category's name; with an etag only if it is as it was read (else Aborted)."""
        category = Category(namespace=namespace, id=id, display_name=display_name, etag=etag)
        request = newsfeed_service_pb2.UpdateCategoryRequest(
            category=category, update_mask=FieldMask(paths=["display_name"])
        )
        return self._connection.unary(self._stub.UpdateCategory, request, timeout=timeout).category

    def move_category(
        self,
        id: str,
        parent_id: str,
        *,
        namespace: str = "",
        etag: str = "",
        timeout: float | None = None,
    ) -> MoveCategoryResponse:
        """Puts a category below another ("": a root). `pending`: the rest follows by itself."""
        request = newsfeed_service_pb2.MoveCategoryRequest(
            namespace=namespace, id=id, parent_id=parent_id, etag=etag
        )
        return self._connection.unary(self._stub.MoveCategory, request, timeout=timeout)

    def delete_category(
        self,
        id: str,
        *,
        namespace: str = "",
        force: bool = False,
        etag: str = "",
        timeout: float | None = None,
    ) -> DeleteCategoryResponse:
        """Deletes a category that has none below it; `force`: takes its articles out of it first.

        Never tried again by itself: the second try would not find it.
        """
        request = newsfeed_service_pb2.DeleteCategoryRequest(
            namespace=namespace, id=id, force=force, etag=etag
        )
        return self._connection.unary(
            self._stub.DeleteCategory, request, timeout=timeout, idempotent=False
        )

    def list_categories(
        self,
        *,
        namespace: str = "",
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> ListCategoriesResponse:
        """One page of the categories, by path."""
        request = newsfeed_service_pb2.ListCategoriesRequest(
            namespace=namespace, page_size=page_size, page_token=page_token
        )
        return self._connection.unary(self._stub.ListCategories, request, timeout=timeout)

    def categories(
        self, *, namespace: str = "", page_size: int = 0, timeout: float | None = None
    ) -> Iterator[Category]:
        """All categories, each before those below it. `timeout` is per page."""

        def fetch(page_token: str) -> tuple[Sequence[Category], str]:
            page = self.list_categories(
                namespace=namespace, page_size=page_size, page_token=page_token, timeout=timeout
            )
            return page.categories, page.next_page_token

        return paging.iterate(fetch)


def _upsert_result(
    result: newsfeed_service_pb2.UpsertArticleResult,
) -> UpsertedArticle | WinnowError:
    return from_status(result.error) if result.HasField("error") else result.upserted
