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
