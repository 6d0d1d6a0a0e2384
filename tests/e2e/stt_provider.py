"""A provider of transcripts that tests stop, slow down and put out of order."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Provider:
    """Done with everything at the second look by default."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hung: dict[str, threading.Event] = {}
        self.polls: Counter[str] = Counter()  # by path
        self.out_of_order = False
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = provider.answer(self.path)
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    return  # the worker was killed

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        for event in self._hung.values():
            event.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str) -> tuple[int, bytes]:
        with self._lock:
            self.polls[path] += 1
            polls = self.polls[path]
            hung = self._hung.get(path) if polls == 1 else None
            out_of_order = self.out_of_order
        if hung is not None:
            hung.wait(60)
        if out_of_order:
            return 503, b""
        if "unknown" in path:
            return 404, b""
        return (202, b"") if polls == 1 else (200, f"text of {path}".encode())

    @contextmanager
    def hanging(self, recording: str) -> Iterator[threading.Event]:
        """The first look at the recording gets no answer before the event is set."""
        event = threading.Event()
        with self._lock:
            self._hung[f"/transcripts/{recording}"] = event
        try:
            yield event
        finally:
            event.set()

    def was_asked(self, recording: str, times: int = 1) -> bool:
        return self.polls[f"/transcripts/{recording}"] >= times
