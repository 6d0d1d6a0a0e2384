"""When and after how long a failed call is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from winnow.errors import Unavailable, WinnowError


@dataclass(frozen=True)
class RetryPolicy:
    """Only UNAVAILABLE is tried again, and only for calls that are safe to repeat.

    Everything else is the caller's decision: a full server wants less load, not more calls, and an
    INVALID_ARGUMENT stays invalid.
    """

    attempts: int = 5
    """Tries in all; 1 never tries again."""
    first_delay: float = 0.1
    """Seconds before the second try, at most; doubles with each."""
    max_delay: float = 5.0
    """Seconds that a delay is at most, unless the server asks for more."""

    def delay(self, error: WinnowError, failures: int) -> float | None:
        """Seconds to wait after `failures` failed tries, or None to give up."""
        if not isinstance(error, Unavailable) or failures >= self.attempts:
            return None
        # 2^20 is beyond any ceiling; a float has an end.
        ceiling = min(self.max_delay, self.first_delay * 2.0 ** min(failures - 1, 20))
        # Full jitter: clients that failed together do not come back together.
        return max(random.uniform(0.0, ceiling), error.retry_after or 0.0)


NO_RETRY = RetryPolicy(attempts=1)
