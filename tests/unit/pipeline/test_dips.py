"""Dips of known shape: what was put in comes out, and what cannot be said is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from brokerlab.judge.figures import figures
from brokerlab.model.environment import CellEnvironment, ClockPair, Environment, ExecutionEnvironment
from brokerlab.pipeline.dips import Around, dip, dip_rows
from brokerlab.pipeline.faults import BegunFault

BEGIN = 1000  # UNIX second in which the measure phase begins
OFFSET_NS = 990 * 10**9  # UNIX minus monotonic


def fault(at_s: float, number: int = 1) -> BegunFault:
    begin = BEGIN * 10**9 - OFFSET_NS
    return BegunFault("c01", 1, number, "kill", "n-1", True, begin + round(at_s * 1e9), begin, begin + 30 * 10**9)


def rate_rows(counts: dict[str, list[int]]) -> list[dict[str, Any]]:
    return [
        {"cell": "c01", "repeat": 1, "second_unix_s": BEGIN + i, "phase": "measure", "role": role, "group": "",
         "acknowledged": n, "received": n, "sent": n, "bytes": 0}
        for role, values in counts.items() for i, n in enumerate(values)
    ]  # fmt: skip


def environment(executions: dict[str, ExecutionEnvironment]) -> Environment:
    return Environment(cells={"c01": CellEnvironment(executions=executions)})


CLOCKED = environment({"1": ExecutionEnvironment(clock=ClockPair(mono_ns=0, unix_ns=OFFSET_NS))})
OUTAGE = {"cell": "c01", "repeat": 1, "number": 1, "publish_outage_s": 2.6, "publish_recovered": True,
          "delivery_outage_s": None, "delivery_recovered": None}  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_a_dip_is_what_numpy_finds_in_the_same_seconds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    struck, length = int(rng.integers(4, 12)), int(rng.integers(1, 8))
    counts = rng.integers(960, 1040, 30)
    counts[struck : struck + length] = rng.integers(0, 500, length)
    at_s = struck + float(rng.uniform(0, 0.99))
    (row,) = dip_rows([fault(at_s)], [OUTAGE], rate_rows({"producer": counts.tolist()}), CLOCKED)
    before = counts[:struck].mean()
    measured = counts[:29]  # the last second may run into the drain
    back = next(s for s in range(struck, 27) if (measured[s : s + 3] >= 0.9 * before).all())
    assert row["before_per_s"] == pytest.approx(before)
    assert row["lowest_per_s"] == measured[struck:].min()
    assert row["depth"] == pytest.approx(1 - measured[struck:].min() / before)
    assert row["during_per_s"] == pytest.approx(measured[struck:back].mean())
    assert row["during_share"] == pytest.approx(measured[struck:back].mean() / before)
    assert row["recovery_s"] == pytest.approx(back - at_s)
    assert back == struck + length
    assert (row["side"], row["outage_s"], row["outage_ended"]) == ("publish", 2.6, True)
    assert (row["recovered"], row["reason"]) == (True, "")


def test_a_fault_that_nobody_noticed_is_no_dip() -> None:
    found = dip(dict.fromkeys(range(20), 100), Around(8.5, 0, 19))
    assert (found["depth"], found["recovery_s"], found["during_share"], found["silent_s"]) == (0.0, 0.0, 1.0, 0)


def test_a_rate_that_stays_down_is_not_back_and_two_good_seconds_are_not_enough() -> None:
    counts = dict.fromkeys(range(8), 100) | {8: 0, 9: 100, 10: 100, 11: 10} | {18: 100, 19: 100}
    found = dip(counts, Around(8.0, 0, 19))
    assert (found["recovered"], found["recovery_s"], found["silent_s"]) == (False, None, 7)
    assert found["reason"] == "the rate was not back before the end"
    assert found["during_per_s"] == pytest.approx(410 / 12)


@pytest.mark.parametrize(
    ("around", "reason"),
    [
        (Around(2.5, 0, 19), "2 whole seconds before it, 3 are needed"),
        (Around(9.5, 5, 19), "nothing went through before it"),
        (Around(5.5, 0, 4), "no second after it"),
    ],
)
def test_what_cannot_be_said_is_null_with_the_reason(around: Around, reason: str) -> None:
    found = dip(dict.fromkeys(range(5), 100), around)
    assert (found["before_per_s"], found["depth"], found["recovered"], found["reason"]) == (None, None, None, reason)


def test_two_faults_share_the_seconds_between_them() -> None:
    counts = [100] * 5 + [0] * 2 + [100] * 6 + [50] * 3 + [100] * 6
    outages = [OUTAGE, OUTAGE | {"number": 2}]
    rates = rate_rows({"producer": counts, "consumer": counts})
    rows = dip_rows([fault(5.0), fault(13.2, 2)], outages, rates, CLOCKED)
    assert [(r["number"], r["side"]) for r in rows] == [
        (1, "publish"),
        (1, "delivery"),
        (2, "publish"),
        (2, "delivery"),
    ]
    assert [r["depth"] for r in rows] == pytest.approx([1.0, 1.0, 0.5, 0.5])
    assert [r["recovery_s"] for r in rows] == pytest.approx([2.0, 2.0, 2.8, 2.8])
    assert dip_rows([fault(5.0)], outages, [], CLOCKED) == []


def test_without_clocks_the_measure_phase_begins_with_its_first_second() -> None:
    counts = [100] * 5 + [0] * 2 + [100] * 10
    (row,) = dip_rows([fault(5.0)], [OUTAGE], rate_rows({"producer": counts}), environment({}))
    assert row["recovery_s"] == pytest.approx(2.0)


def test_the_summary_has_the_worst_fault_and_nothing_of_one_without_an_end() -> None:
    row = {"cell": "c01", "repeat": 1, "side": "publish", "outage_s": 1.0, "outage_ended": True, "recovery_s": 2.0,
           "recovered": True}  # fmt: skip
    worse = row | {"outage_s": 3.0, "recovery_s": None, "recovered": False}
    found = figures([], [], [], [], dips=[row, worse, row | {"repeat": 2}])
    assert found == {("c01", "publish_outage_s"): {1: 3.0, 2: 1.0}, ("c01", "publish_recovery_s"): {2: 2.0}}
