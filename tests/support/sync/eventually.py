"""Waiting for a condition: the one place where Python tests pass time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Generous, for a machine many times slower: it is only spent where something is broken.
DEFAULT_SECONDS = 180.0
_INTERVAL_SECONDS = 0.02


def eventually(
    probe: Callable[[], T | None],
    what: str,
    *,
    seconds: float = DEFAULT_SECONDS,
    unless: Callable[[], str | None] = lambda: None,
) -> T:
    """The first answer of `probe` that is true. `unless` says why there is none to wait for."""
    deadline = time.monotonic() + seconds
    while True:
        answer = probe()
        if answer:
            return answer
        hopeless = unless()
        if hopeless:
            raise AssertionError(f"{what}: {hopeless}")
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}; last answer {answer!r}")
        time.sleep(_INTERVAL_SECONDS)
