from __future__ import annotations

from fake_server import Script
from google.protobuf.field_mask_pb2 import FieldMask

import winnow
from winnow.collector.v1 import collector_service_pb2, source_pb2


def test_source_calls_carry_their_arguments(client: winnow.Winnow, script: Script) -> None:
    feed = source_pb2.FeedSource(url="https://a.example/rss")
    source = winnow.Source(id="a", feed=feed, etag="e")
    client.collector.create_source(source)
    client.collector.get_source("a")
    client.collector.update_source(source, ["feed"])
    client.collector.delete_source("a")
    client.collector.pause_source("a")
    client.collector.resume_source("a")
    client.collector.run_source("a", request_id="r")
    assert not list(client.collector.sources(namespace="n", page_size=3))
    assert not list(client.collector.runs(source_id="a"))
    assert client.collector.quotas(credential="naver") == []
    client.collector.import_opml(b"<opml/>", namespace="n", folders_as_categories=True)
    assert script.requests == [
        collector_service_pb2.CreateSourceRequest(source=source),
        collector_service_pb2.GetSourceRequest(id="a"),
        collector_service_pb2.UpdateSourceRequest(
            source=source, update_mask=FieldMask(paths=["feed"])
        ),
        collector_service_pb2.DeleteSourceRequest(id="a"),
        collector_service_pb2.PauseSourceRequest(id="a"),
        collector_service_pb2.ResumeSourceRequest(id="a"),
        collector_service_pb2.RunSourceRequest(id="a", request_id="r"),
        collector_service_pb2.ListSourcesRequest(namespace="n", page_size=3),
        collector_service_pb2.ListRunsRequest(source_id="a"),
        collector_service_pb2.GetQuotaRequest(credential="naver"),
        collector_service_pb2.ImportOpmlRequest(
            namespace="n", opml=b"<opml/>", folders_as_categories=True
        ),
    ]


def test_a_watch_of_runs_goes_on_after_a_cut(client: winnow.Winnow) -> None:
    watch = client.collector.watch_runs(source_id="a", resume_token="t")
    tokens = [next(watch).resume_token for _ in range(4)]
    assert tokens == ["t0", "t1", "t10", "t11"]
