"""Headlines that share nothing with each other."""

from __future__ import annotations

import random


def unalike_title(number: int) -> str:
    chance = random.Random(number)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(chance.choices(letters, k=7)) for _ in range(6)).capitalize()
