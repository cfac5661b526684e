"""What benchmarks beside a vendor's tool share: payloads that are the same for both, and rounds in turn."""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Round
from brokerlab.model.header import HEADER_BYTES

LINES = 1000


def lines_of_letters(path: Path, size: int) -> Path:
    """Lines of random letters, the same at every call."""
    letters = random.Random(size)
    path.write_text("\n".join("".join(letters.choices(string.ascii_letters, k=size)) for _ in range(LINES)) + "\n")
    return path


def without_headers(theirs: Path) -> Path:
    """The same lines shorter by our header, so that messages are equal in size."""
    ours = theirs.with_name(f"{theirs.stem}-ours.txt")
    ours.write_text("\n".join(line[HEADER_BYTES:] for line in theirs.read_text().splitlines()) + "\n")
    return ours


def said(settings: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def alternately(
    rounds: int, ours: Callable[[], Round], theirs: Callable[[], Round], what: str
) -> tuple[list[Round], list[Round]]:
    """ABBA: drift of the machine falls on both sides alike."""
    made: tuple[list[Round], list[Round]] = ([], [])
    for n in range(rounds):
        for side in (0, 1) if n % 2 == 0 else (1, 0):
            made[side].append((ours, theirs)[side]())
            last = made[side][-1]
            sys.stderr.write(
                f"{what}, round {n + 1} of {rounds}: {last.who} {last.rate_per_s:,.0f}/s, "
                f"{last.client_us:.2f} µs client, {last.broker_us:.2f} µs broker\n"
            )
    return made
