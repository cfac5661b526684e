"""What may be believed, in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from brokerlab.judge.headline import headline
from brokerlab.results.verdict import Answer, Aspect, CellVerdict

DELIVERY = {"sent": 10_000, "lost": 0}


def cell(label: str, verdict: Answer, because: str = "", **aspects: Any) -> CellVerdict:
    return CellVerdict(
        cell=label, label=label, verdict=verdict, because=because, repeats_planned=4, repeats_finished=4, repeats_counted=4,
        durability_declared="L4", durability_computed=None, **aspects,
    )  # fmt: skip


def said(*cells: CellVerdict) -> str:
    return headline(cells, DELIVERY, (), violated=False)


def test_of_several_cells_each_says_what_holds_in_it_and_what_does_not() -> None:
    late = cell("nats", "invalid", "the agent itself was late", latencies="invalid")
    unread = cell("redis", "cannot tell", "a segment could not be read", **dict.fromkeys(("delivery", "rates", "latencies"), "cannot tell"))  # fmt: skip
    assert said(late, unread, cell("kafka", "valid")) == (
        "Invalid: nats: delivery and rates hold, latencies do not: the agent itself was late;"
        " cannot tell: redis: a segment could not be read; valid: kafka 4 repeats."
    )


@pytest.mark.parametrize(
    ("doubted", "needs", "words"),
    [
        (("latencies",), ("delivery", "rates", "latencies"), "delivery and rates hold, latencies do not: "),
        (("rates", "latencies"), ("delivery", "rates", "latencies"), "delivery holds, rates and latencies do not: "),
        (("delivery", "latencies"), ("delivery", "rates", "latencies"), "rates hold, delivery and latencies do not: "),
        (("delivery",), ("delivery", "rates"), "rates hold, delivery does not: "),
        (("rates", "latencies"), ("delivery", "rates"), "delivery holds, rates do not: "),
        (("delivery", "rates", "latencies"), ("delivery", "rates", "latencies"), ""),
    ],
)
def test_a_cell_in_doubt_says_what_its_question_can_rely_on(
    doubted: tuple[Aspect, ...], needs: tuple[Aspect, ...], words: str
) -> None:
    one = cell("nats", "cannot tell", "why", needs=needs, **dict.fromkeys(doubted, "cannot tell"))
    assert said(one) == f"Cannot tell: {words}why."
