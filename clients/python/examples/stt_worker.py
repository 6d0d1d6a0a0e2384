#!/usr/bin/env python3
"""A worker for speech to text: polls a provider until each recording is transcribed and summed up.

    stt_worker.py --provider http://localhost:9000 --server 127.0.0.1:7400

The provider is asked `GET /transcripts/ID` and `GET /summaries/ID`: 200 with the text when it is
done, 202 when it is not, 404 when it never will be, anything else when it is out of order. Each job
of kind "stt" is a recording: its id is the provider's, its state what is being waited for. The
worker may be killed, stopped and started again, and run as often as one likes.
"""

from __future__ import annotations

import argparse
import logging
import signal
import urllib.error
import urllib.request

import winnow
from winnow.job_worker import (
    Complete,
    FatalError,
    JobWorker,
    Lease,
    MoveTo,
    Outcome,
    Reschedule,
    TransientError,
)

PATHS = {"processing": "transcripts", "summarizing": "summaries"}


def ask(url: str) -> bytes | None:
    """The text, or None while it is not there."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            body: bytes = answer.read()
            return None if answer.status == 202 else body
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise FatalError("the provider does not know the recording") from error
        after = error.headers.get("Retry-After", "")
        retry_after = float(after) if after.isdigit() else None
        raise TransientError(f"the provider answered {error.code}", retry_after) from error
    except OSError as error:
        raise TransientError(f"the provider is away: {error}") from error


def poll(provider: str, delay: float | None, lease: Lease) -> Outcome:
    """One look at the provider."""
    job = lease.job
    text = ask(f"{provider}/{PATHS[job.state]}/{job.id}")
    if text is None:
        return Reschedule(delay)
    if job.state == "processing":
        return MoveTo("summarizing")
    return Complete(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--provider", required=True)
    parser.add_argument("--server", default=winnow.DEFAULT_ADDRESS)
    parser.add_argument("--owner", default="")
    parser.add_argument("--delay", type=float, help="seconds between polls; default: the policy's")
    parser.add_argument("--heartbeat", type=float, default=10.0)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    with winnow.connect(options.server) as client:
        worker = JobWorker(
            client.polling,
            "stt",
            lambda lease: poll(options.provider.rstrip("/"), options.delay, lease),
            owner=options.owner,
            heartbeat=options.heartbeat,
            max_backoff=5.0,
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: worker.stop())
        worker.run()


if __name__ == "__main__":
    main()
