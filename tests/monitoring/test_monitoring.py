"""docs/monitoring: alert rules do what they say, and all speak of metrics that exist."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "docs" / "monitoring"
RULES = sorted(MONITORING.glob("*.rules.yaml"))
DASHBOARDS = sorted(MONITORING.glob("*.dashboard.json"))
RUNBOOK = MONITORING / "runbook.md"
METRIC = re.compile(r"\bwinnow_[a-z0-9_]+(?![a-z0-9_:])")
HISTOGRAM_PARTS = re.compile(r"_(bucket|sum|count)$")


def promtool(*arguments: str) -> None:
    result = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def declared_metrics() -> set[str]:
    """What the sources declare, by its literal name."""
    found = set()
    for path in (ROOT / "services").rglob("*.cc"):
        found |= set(re.findall(r'"(winnow_[a-z0-9_]+)"', path.read_text(encoding="utf-8")))
    return found


def expressions(path: Path) -> list[str]:
    if path.suffix == ".json":
        board: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    rules = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    found = {}
    for path in RULES:
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            found |= {rule["alert"]: rule for rule in group["rules"] if "alert" in rule}
    return found


def test_each_alert_has_a_section_of_the_runbook_and_each_section_an_alert() -> None:
    sections = re.findall(r"^## (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(sections) == len(set(sections))
    assert set(sections) == set(alerts())
    for name, rule in alerts().items():
        anchor = f"docs/monitoring/runbook.md#{name.lower()}"
        assert rule["annotations"]["runbook"] == anchor, name


def test_links_of_the_runbook_point_to_its_sections() -> None:
    text = RUNBOOK.read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(#(\w+)\)", text)) <= {name.lower() for name in alerts()}


AGGREGATION = re.compile(r"(?<![:\w])(?:sum|min|max|count|group|avg)(?: by)? ?\(([^)]*)")


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_every_aggregation_is_within_an_installation(path: Path) -> None:
    for expression in expressions(path):
        for labels in AGGREGATION.findall(expression):
            assert labels.startswith("installation"), expression


@pytest.mark.parametrize("name", alerts())
def test_each_alert_is_of_one_installation_and_not_of_one_pod(name: str) -> None:
    """What is absent altogether has no labels; recorded series are aggregated."""
    expression = alerts()[name]["expr"]
    assert re.search(r"^absent\(|\(installation\b|\bwinnow(_\w+)?:\w+", expression)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_rules_are_valid_and_alert_when_they_should(path: Path) -> None:
    promtool("check", "rules", str(path))
    promtool("test", "rules", str(path).replace(".rules.yaml", ".rules_test.yaml"))


@pytest.mark.parametrize("path", [*RULES, *DASHBOARDS], ids=lambda path: path.name)
def test_every_metric_that_is_spoken_of_exists(path: Path) -> None:
    declared = declared_metrics()
    for expression in expressions(path):
        for name in METRIC.findall(re.sub(r"winnow_\w+:[\w:]+", "", expression)):
            assert name in declared or HISTOGRAM_PARTS.sub("", name) in declared, name


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.name)
def test_panels_of_a_dashboard_do_not_overlap(path: Path) -> None:
    taken = set()
    for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
