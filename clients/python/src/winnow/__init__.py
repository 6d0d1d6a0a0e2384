"""Client of Winnow.

connect() gives the clients of all services; README.md has examples.
"""

from winnow.client import DEFAULT_ADDRESS, Winnow, connect
from winnow.collector_client import CollectorClient, Item, StoredItem
from winnow.connection import Connection, Tls
from winnow.dedup_client import (
    CitedOriginal,
    Decision,
    DedupClient,
    Document,
    Duplicate,
    Policy,
    ReviewItem,
    Stage,
    Verdict,
)
from winnow.errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
    Violation,
    WinnowError,
)
from winnow.newsfeed_client import (
    Article,
    ArticleCategory,
    ArticleFilter,
    Category,
    CountNewArticlesResponse,
    NewsFeedClient,
    UpsertedArticle,
    UpsertOutcome,
    WatchArticlesResponse,
)
from winnow.retry import NO_RETRY, RetryPolicy

__all__ = [
    "DEFAULT_ADDRESS",
    "NO_RETRY",
    "Aborted",
    "AlreadyExists",
    "Article",
    "ArticleCategory",
    "ArticleFilter",
    "Cancelled",
    "Category",
    "CitedOriginal",
    "CollectorClient",
    "Connection",
    "CountNewArticlesResponse",
    "DeadlineExceeded",
    "Decision",
    "DedupClient",
    "Document",
    "Duplicate",
    "FailedPrecondition",
    "Internal",
    "InvalidArgument",
    "Item",
    "NewsFeedClient",
    "NotFound",
    "PermissionDenied",
    "Policy",
    "ResourceExhausted",
    "RetryPolicy",
    "ReviewItem",
    "Stage",
    "StoredItem",
    "Tls",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UpsertOutcome",
    "UpsertedArticle",
    "Verdict",
    "Violation",
    "WatchArticlesResponse",
    "Winnow",
    "WinnowError",
    "connect",
]
