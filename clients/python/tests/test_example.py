from __future__ import annotations

import sys
from datetime import datetime, timezone
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import collect_feed  # noqa: E402  (found through the line above)

ATOM_FEED = b"""<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Quay Notes</title>
  <entry>
    <title type="html">Two &lt;i&gt;new&lt;/i&gt; cranes</title><id>tag:quay,2026:7</id>
    <link rel="self" href="https://quay.example/7.atom"/>
    <link href="https://quay.example/7"/>
    <updated>2026-02-03T10:00:00+09:00</updated><summary>They lift.</summary>
  </entry>
</feed>"""


def test_an_rss_feed_becomes_items() -> None:
    data = (EXAMPLES / "sample_feed.xml").read_bytes()
    items = list(collect_feed.to_items(data, channel="", namespace="demo"))
    assert len(items) == 5
    ferry, library = items[0], items[1]
    assert ferry.namespace == "demo"
    assert ferry.channel == "harbour-gazette.example"
    assert ferry.external_id == "hg-1041"
    assert ferry.snippet == "From April the line runs every two hours."
    assert ferry.publish_time.ToDatetime(timezone.utc) == datetime(
        2026, 2, 1, 21, 30, tzinfo=timezone.utc
    )
    assert library.title == "Old lighthouse opens as a library & café"
    assert not items[2].HasField("publish_time")


def test_an_atom_feed_becomes_items() -> None:
    (item,) = collect_feed.to_items(ATOM_FEED, channel="quay", namespace="")
    assert item.channel == "quay"
    assert item.title == "Two new cranes"
    assert item.url == "https://quay.example/7"
    assert item.channel_name == "Quay Notes"
    assert item.publish_time.ToJsonString() == "2026-02-03T01:00:00Z"


def test_an_odd_date_is_left_out() -> None:
    assert collect_feed.parse_time("yesterday, around noon") is None
    assert collect_feed.parse_time("  ") is None
