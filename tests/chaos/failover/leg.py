"""What a leg of `./x chaos failover` reports, and the table of all legs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SERVICES = ("collector", "dedup", "newsfeed", "classification", "polling")


@dataclass
class Result:
    """Of one leg. Writes are counted by their natural keys."""

    leg: str
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)  # acknowledged and not there afterwards
    duplicated: list[str] = field(default_factory=list)  # there more than once
    unavailable: dict[str, float] = field(default_factory=dict)  # seconds by service, the longest
    failures: list[str] = field(default_factory=list)  # what else did not hold
    notes: list[str] = field(default_factory=list)  # figures of this leg alone

    def add_unavailable(self, seconds: dict[str, float]) -> None:
        """The longest of all loads counts, whichever is compared last."""
        for service, each in seconds.items():
            self.unavailable[service] = max(each, self.unavailable.get(service, 0.0))

    @property
    def passed(self) -> bool:
        return not (self.lost or self.duplicated or self.failures)

    def row(self) -> list[str]:
        seconds = [
            f"{self.unavailable[each]:.1f}" if each in self.unavailable else "-"
            for each in SERVICES
        ]
        counts = [self.acknowledged, len(self.lost), len(self.duplicated)]
        verdict = "passed" if self.passed else "FAILED"
        return [self.leg, *map(str, counts), *seconds, verdict]


def table(results: Sequence[Result]) -> str:
    head = ["leg", "acknowledged", "lost", "duplicated", *(f"{each} s" for each in SERVICES), ""]
    rows = [head, *(each.row() for each in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    for result in results:
        lines += [f"{result.leg}: {note}" for note in result.notes]
        lines += [f"{result.leg}: FAILED: {failure}" for failure in result.failures]
        for what, keys in (("lost", result.lost), ("duplicated", result.duplicated)):
            if keys:
                lines.append(f"{result.leg}: FAILED: {what}: {', '.join(sorted(keys)[:5])} ...")
    return "\n".join(line.rstrip() for line in lines)
