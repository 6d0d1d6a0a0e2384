"""Naver, NewsData, a feed and news pages on one loopback port, for the built binary."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

FIRST_TOKEN = 2**53 + 1
WORDS = (
    *("anchor", "beacon", "crane", "dock", "ebb", "ferry", "gull", "harbour", "island", "jetty"),
    *("keel", "lagoon", "mast", "nautical", "oar", "pier", "quay", "reef", "sail", "tide"),
)

LONG = "night ferry to the islands gets a second boat this April"
OTHER_OUTLET = "outlet.example"  # nothing is fetched from there
OTHER_IMAGE = "https://img.example/ferry.jpg"


class FakeVendors:
    """Answers like the vendors.

    While `gate` is cleared, Naver's answers are held back, and NewsData's from the second page on.
    """

    def __init__(self, naver_articles: int = 12, newsdata_articles: int = 6) -> None:
        self.naver_articles = naver_articles
        self.newsdata_articles = newsdata_articles
        self.asked: Counter[str] = Counter()
        self.keys: set[tuple[str | None, ...]] = set()
        self.gate = threading.Event()
        self.gate.set()
        vendors = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                vendors.serve(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Tests print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, path: str) -> str:
        return f"http://{self.address}{path}"

    def collector_config(self, folder: Path) -> dict[str, Any]:
        """Settings of a collector that knows these vendors; its keys are files of the folder."""
        for name in ("id", "secret", "key"):
            (folder / name).write_text(f"the-{name}\n")
        return {
            "lease": "2s",
            "allow": [self.address],
            "credentials": [
                {
                    "name": "naver",
                    "vendor": "naver",
                    "id_file": str(folder / "id"),
                    "key_file": str(folder / "secret"),
                    "base_url": self.url("/naver"),
                },
                {
                    "name": "newsdata",
                    "vendor": "newsdata",
                    "key_file": str(folder / "key"),
                    "base_url": self.url("/newsdata"),
                },
            ],
        }

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked[parts.path] += 1
        if parts.path == "/naver":
            names = ("X-Naver-Client-Id", "X-Naver-Client-Secret")
            self.keys.add(tuple(handler.headers.get(name) for name in names))
            self.gate.wait(600)
            body, kind = json.dumps(self.naver(query)), "text/plain"
        elif parts.path == "/newsdata":
            self.keys.add((handler.headers.get("X-ACCESS-KEY"),))
            if "page" in query:
                self.gate.wait(600)
            body, kind = json.dumps(self.newsdata(query)), "application/json"
        elif parts.path == "/feed":
            body, kind = self.feed(), "application/rss+xml"
        else:
            body, kind = self.page(parts.path), "text/html; charset=utf-8"
        raw = body.encode()
        try:
            handler.send_response(200)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(raw)))
            handler.end_headers()
            handler.wfile.write(raw)
        except OSError:
            handler.close_connection = True  # who asked was killed

    def naver(self, query: dict[str, str]) -> dict[str, Any]:
        start, display = int(query["start"]), int(query["display"])
        numbers = range(self.naver_articles - start + 1, 0, -1)[:display]
        items = [
            {
                "title": self.headline(number),
                "originallink": self.url(f"/article/{number}"),
                "link": self.url(f"/article/{number}"),
                "description": "",
                "pubDate": "Mon, 26 Sep 2016 07:50:00 +0900",
            }
            for number in numbers
        ]
        return {"total": self.naver_articles, "start": start, "display": display, "items": items}

    def headline(self, number: int) -> str:
        if number == self.naver_articles:
            return self.original.replace("바다", "<b>바다</b>")
        return f"<b>바다</b> 소식 {number}호 &quot;{name(number)}&quot;"

    def newsdata(self, query: dict[str, str]) -> dict[str, Any]:
        page = int(query["page"]) - FIRST_TOKEN if "page" in query else 0
        size = 3
        numbers = range(page * size, min((page + 1) * size, self.newsdata_articles))
        # The first two are articles that Naver has too; the last reports a story of Naver's, in
        # nearly the same words, in another outlet.
        results = [
            {
                "article_id": f"{number:032x}",
                "title": self.repeated if self.repeats(number) else f"Report {name(number)}",
                "link": self.link(number),
                "image_url": OTHER_IMAGE if self.repeats(number) else None,
                "keywords": None,
                "description": None,
                "pubDate": "2024-07-20 08:21:00",
                "source_id": "harbour",
                "language": "english",
                "category": ["top"],
                "source_icon": self.url("/icon.png"),
                "ai_tag": "ONLY AVAILABLE IN PAID PLANS" if number < 2 else ["harbours"],
            }
            for number in numbers
        ]
        more = (page + 1) * size < self.newsdata_articles
        return {
            "status": "success",
            "results": results,
            "nextPage": str(FIRST_TOKEN + page + 1) if more else None,
        }

    def repeats(self, number: int) -> bool:
        return number == self.newsdata_articles - 1

    def link(self, number: int) -> str:
        if self.repeats(number):
            return f"http://{OTHER_OUTLET}/story"
        return self.url(f"/article/{number + 1}" if number < 2 else f"/data/{number}")

    @property
    def original(self) -> str:
        """The newest headline of Naver."""
        return f"바다 소식 {self.naver_articles}호 {LONG} {name(self.naver_articles)}"

    @property
    def repeated(self) -> str:
        return self.original.replace(" a second", " second")

    def feed(self) -> str:
        entries = "".join(
            f"<item><title>Feed says {name(number)}</title>"
            f"<link>{self.url(f'/entry/{number}')}</link></item>"
            for number in range(3)
        )
        return f"<rss><channel><title>A feed</title>{entries}</channel></rss>"

    def page(self, path: str) -> str:
        return (
            f"<html><head><!--{'x' * 12_000}--><meta property='og:image'"
            f" content='/picture{path}.jpg'></head><body>text</body></html>"
        )


def name(number: int) -> str:
    """Words that make titles unalike."""
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 7))
