"""Lists as plain iterators: pages are read as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def iterate(fetch: Callable[[str], tuple[Sequence[T], str]], page_token: str = "") -> Iterator[T]:
    """All elements of a list. `fetch` takes a page token and answers a page and the next token.

    An empty token is the only end: a page may be short, or empty, in the middle.
    """
    while True:
        page, next_token = fetch(page_token)
        yield from page
        if not next_token:
            return
        if next_token == page_token:
            raise RuntimeError("the server answered the page token that it was sent: no progress")
        page_token = next_token
