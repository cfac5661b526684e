"""Measures of claims against numpy alone, and the verdicts that follow from them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from brokerlab.judge.claim_measures import Figures, measured
from brokerlab.judge.claims import CellFacts, CellReason, Observed, error_level, judged
from brokerlab.judge.estimates import ALARMS
from brokerlab.judge.student import two_sided_limit
from brokerlab.model.claims import Bound, Claim, Part
from brokerlab.studies.language import parse_bound, parse_measure

CELLS = ("a", "b", "c", "d")
RUN = "r1"


def figures(values: dict[str, list[float]], metric: str = "sent_per_s", **given: object) -> Figures:
    by_round = {cell: {(RUN, i): v for i, v in enumerate(of, 1)} for cell, of in values.items()}
    found = Figures({metric: by_round}, dict.fromkeys(values, "x"), {}, {})
    return replace(found, **given)


def part(text: str, holds: str = "> 1") -> Part:
    (found,) = parse_measure(text, parse_bound(holds), CELLS)
    return found


def noisy(mean: float, n: int = 6, *, share: float = 0.02, seed: int = 1) -> list[float]:
    return list(mean * np.exp(np.random.default_rng(seed).normal(0, share, n)))


def pair_interval(values: dict[str, list[float]], a: str, b: str, level: float) -> tuple[float, float]:
    """Of log(a / b): the pairs' own variance or the mean over all pairs of cells, whichever is larger; the degrees of
    freedom from the residuals' eigenvalues. Written down again from the statistics page, without the judge's code."""
    logs = {c: np.log(v) for c, v in values.items()}
    variances = [np.var(logs[x] - logs[y], ddof=1) for x, y in itertools.combinations(sorted(values), 2)]
    own, pooled = np.var(logs[a] - logs[b], ddof=1), float(np.mean(variances))
    table = np.array([logs[c] for c in sorted(values)])
    residuals = table - table.mean(1, keepdims=True) - table.mean(0, keepdims=True) + table.mean()
    eigenvalues = np.linalg.eigvalsh(residuals @ residuals.T)
    sources = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    n = table.shape[1]
    alone = own < 0.01 * pooled
    degrees = (n - 1) * (1 if alone else sources)
    reach = two_sided_limit(level, degrees) * math.sqrt((own if alone else max(own, pooled)) / n)
    mean = float((logs[a] - logs[b]).mean())
    return mean - reach, mean + reach


VALUES = {"a": noisy(200, seed=1), "b": noisy(100, seed=2), "c": noisy(150, seed=3), "d": noisy(90, seed=4)}


def test_bucketed_is_what_wide_buckets_print_of_each_repeat() -> None:
    metric = "end_to_end_latency_p95_ns"
    values = {"a": [51e6, 62e6, 99e6, 75e6], "b": [12e6, 49e6, 50e6, 51e6]}
    known = figures(values, metric)
    found = measured(part(f"bucketed(a, {metric}, 50ms)"), known, 0.02)
    assert (found.value, found.low, found.high, found.n) == tuple(map(pytest.approx, (100e6, 100e6, 100e6, 4)))
    printed = np.array([50e6, 50e6, 100e6, 100e6])
    assert measured(part(f"bucketed(b, {metric}, 50ms)"), known, 0.02).value == pytest.approx(
        np.exp(np.log(printed).mean())
    )
    assert measured(part(f"level(b, {metric})"), known, 0.02).value < 50e6


def test_a_ratio_is_that_of_pairs_with_the_noise_of_its_two_cells() -> None:
    found = measured(part("ratio(a, b, sent_per_s)"), figures(VALUES), 0.02)
    logs = np.log(VALUES["a"]) - np.log(VALUES["b"])
    reach = two_sided_limit(0.02, 5.0) * logs.std(ddof=1) / math.sqrt(6)
    assert found.n == 6
    assert (found.value, found.low, found.high) == pytest.approx(
        tuple(np.exp([logs.mean(), logs.mean() - reach, logs.mean() + reach]))
    )
    turned = measured(part("ratio(b, a, sent_per_s)"), figures(VALUES), 0.02)
    assert (turned.value, turned.low, turned.high) == pytest.approx((1 / found.value, 1 / found.high, 1 / found.low))


def test_cells_that_a_measure_does_not_name_change_nothing() -> None:
    restless = {**VALUES, "c": noisy(150, share=2.0, seed=3)}
    for text in ("ratio(a, b, sent_per_s)", "spread(a, b, d, sent_per_s)", "rank(a, b, d, sent_per_s)"):
        assert measured(part(text), figures(restless), 0.02) == measured(part(text), figures(VALUES), 0.02)


@pytest.mark.parametrize("share_b", [0.1, 1.0])
def test_the_interval_of_a_ratio_leaves_out_the_truth_as_often_as_its_level_says(share_b: float) -> None:
    rng, level, runs = np.random.default_rng(7), 0.02, 4_000
    left_out = 0
    for _ in range(runs):
        repeats = rng.normal(0, 0.5, 4)  # what slowed a whole repeat down
        values = {c: list(np.exp(repeats + rng.normal(0, s, 4))) for c, s in (("a", 0.1), ("b", share_b), ("c", 3.0))}
        found = measured(part("ratio(a, b, sent_per_s)"), figures(values), level)
        assert found.low is not None
        assert found.high is not None
        left_out += not found.low <= 1 <= found.high
    assert left_out / runs == pytest.approx(level, abs=0.008)  # 3.6 standard errors


def test_what_happens_to_a_whole_round_cancels_out_of_a_ratio_but_not_out_of_cells_of_different_experiments() -> None:
    slower = np.linspace(1, 0.2, 6)
    drifting = {cell: list(np.array(v) * slower) for cell, v in VALUES.items()}
    same = measured(part("ratio(a, b, sent_per_s)"), figures(drifting), 0.02)
    assert (same.low, same.high) == pytest.approx((1.93, 2.1), abs=0.15)
    apart = figures(drifting, experiments={"a": "x", "b": "y", "c": "x", "d": "y"})
    wide = measured(part("ratio(a, b, sent_per_s)"), apart, 0.02)
    assert wide.value == pytest.approx(same.value)
    assert wide.low < 1 < 5 < wide.high


def test_cells_of_an_experiment_that_ran_in_different_runs_are_compared_without_pairs() -> None:
    a, b = noisy(2.0, seed=1), noisy(1.0, seed=2)
    by_round = {"a": {("first", i): v for i, v in enumerate(a)}, "b": {("second", i): v for i, v in enumerate(b)}}
    within = Figures({"sent_per_s": by_round}, {"a": "x", "b": "x"}, {}, {})
    apart = Figures({"sent_per_s": by_round}, {"a": "x", "b": "y"}, {}, {})
    found = measured(part("ratio(a, b, sent_per_s)"), within, 0.02)
    assert found == measured(part("ratio(a, b, sent_per_s)"), apart, 0.02)
    assert found.value == pytest.approx(2.0, rel=0.05)


def test_a_level_is_a_mean_of_logarithms_and_reaches_below_zero_only_where_values_do() -> None:
    values = VALUES["a"]
    found = measured(part("level(a, sent_per_s)"), figures({"a": values}), 0.02)
    logs = np.log(values)
    reach = two_sided_limit(0.02, 5.0) * logs.std(ddof=1) / math.sqrt(6)
    assert (found.value, found.low, found.high) == pytest.approx(
        tuple(np.exp([logs.mean(), logs.mean() - reach, logs.mean() + reach]))
    )
    zeros = measured(part("level(a, sent_per_s)"), figures({"a": [0, 0, 0, 4.0]}), 0.02)
    assert (zeros.value, zeros.low < 0) == (1.0, True)
    nothing = measured(part("level(a, sent_per_s)"), figures({"a": [0.0] * 4}), 0.02)
    assert (nothing.value, nothing.low, nothing.high) == (0, 0, 0)


def test_shares_are_of_the_configured_rate_or_of_another_metric_repeat_by_repeat() -> None:
    of_rate = measured(part("share(a, sent_per_s, configured)"), figures(VALUES, configured={"a": 400.0}), 0.02)
    assert of_rate.value == pytest.approx(np.exp(np.mean(np.log(VALUES["a"]))) / 400)
    both = {
        "received_per_s": {"a": {(RUN, 1): 9.0, (RUN, 2): 8.0, (RUN, 3): 9.0, (RUN, 4): 1.0, (RUN, 5): 7.0}},
        "sent_per_s": {"a": {(RUN, 1): 10.0, (RUN, 2): 10.0, (RUN, 3): 10.0, (RUN, 5): 10.0}},
    }
    found = measured(part("share(a, received_per_s, sent_per_s)"), Figures(both, {"a": "x"}, {}, {}), 0.02)
    assert found.n == 4  # the fourth repeat has nothing to be a share of
    assert found.value == pytest.approx(np.exp(np.mean(np.log([0.9, 0.8, 0.9, 0.7]))))


def test_overhead_is_bytes_a_message_beyond_the_message() -> None:
    found = measured(
        part("overhead(a, sent_bytes_per_s)"),
        figures({"a": [209.0, 210.0, 208.0, 209.0]}, "sent_bytes_per_s", message_bytes={"a": 200.0}), 0.02,
    )  # fmt: skip
    assert found.value == pytest.approx(9.0)
    assert found.low < 9 < found.high


def test_spread_and_flatness_hold_whichever_cells_are_the_extremes() -> None:
    spread = measured(part("spread(a, b, c, d, sent_per_s)"), figures(VALUES), 0.02)
    pairs = list(itertools.permutations("abcd", 2))
    means = {p: float(np.mean(np.log(VALUES[p[0]]) - np.log(VALUES[p[1]]))) for p in pairs}
    intervals = {p: pair_interval(VALUES, *p, 0.02 / 6) for p in pairs}
    assert spread.value == pytest.approx(math.exp(max(means.values())))
    assert spread.low == pytest.approx(math.exp(max(low for low, _ in intervals.values())))
    assert spread.high == pytest.approx(math.exp(max(high for _, high in intervals.values())))
    flat = measured(part("flatness(a, b, c, d, sent_per_s)"), figures(VALUES), 0.02)
    assert (flat.value, flat.low, flat.high) == pytest.approx((1 / spread.value, 1 / spread.high, 1 / spread.low))


def test_cells_that_are_alike_have_a_spread_that_may_be_none() -> None:
    alike = {cell: noisy(100, seed=i) for i, cell in enumerate("abcd")}
    found = measured(part("spread(a, b, c, d, sent_per_s)"), figures(alike), 0.02)
    assert found.low == 1.0 < found.value < found.high < 1.1


def test_a_peak_is_the_best_of_the_others_over_the_last() -> None:
    found = measured(part("peak(b, a, c, d, sent_per_s)"), figures(VALUES), 0.02)
    of_pairs = [pair_interval(VALUES, cell, "d", 0.02 / 3) for cell in "bac"]
    assert found.value == pytest.approx(np.exp(np.mean(np.log(VALUES["a"]) - np.log(VALUES["d"]))))
    assert found.low == pytest.approx(math.exp(max(low for low, _ in of_pairs)))
    assert found.high == pytest.approx(math.exp(max(high for _, high in of_pairs)))


def kendall(expected: str, level: dict[str, float]) -> float:
    pairs = list(itertools.combinations(expected, 2))
    return sum(1 if level[x] > level[y] else -1 for x, y in pairs) / len(pairs)


@pytest.mark.parametrize("order", ["acbd", "dbca", "abcd"])
def test_rank_is_kendalls_tau_and_unclear_pairs_are_its_interval(order: str) -> None:
    level = {cell: float(np.mean(v)) for cell, v in VALUES.items()}
    text = f"rank({', '.join(order)}, sent_per_s)"
    found = measured(part(text), figures(VALUES), 0.02)
    assert found.value == pytest.approx(kendall(order, level))
    assert (found.low, found.high) == pytest.approx((found.value, found.value))  # every pair is clear
    close = {**VALUES, "d": noisy(100.2, seed=9)}  # b and d cannot be told apart
    unclear = measured(part(text), figures(close), 0.02)
    assert unclear.high - unclear.low == pytest.approx(2 / 6)


P95 = "end_to_end_latency_p95_ns"


@pytest.mark.parametrize(("p95_ns", "verdict"), [(4.9e9, "reproduced"), (5.0e9, "cannot tell"), (None, "cannot tell")])
def test_a_rate_is_ranked_only_while_its_latency_stays_below_the_limit(p95_ns: float | None, verdict: str) -> None:
    known = observed()
    slow = {} if p95_ns is None else {"c": {(RUN, r): p95_ns for r in range(1, 7)}}
    fast = {cell: {(RUN, r): 1e6 for r in range(1, 7)} for cell in "abd"}
    values = {**known.figures.values, P95: {**fast, **slow}}
    known = replace(known, figures=replace(known.figures, values=values))
    asked = claim(f"rank(a, c, b, d, sent_per_s, while {P95} below 5s)", "at least 1")
    found = judged(asked, known, 1)
    assert found.verdict == verdict
    if p95_ns is not None and verdict == "cannot tell":
        assert found.reason == f"the sent_per_s of c does not count: its {P95} is not below 5s"
        assert not found.is_open


def test_three_repeats_have_a_value_and_no_interval() -> None:
    few = {cell: v[:3] for cell, v in VALUES.items()}
    for text in (
        "ratio(a, b, sent_per_s)",
        "level(a, sent_per_s)",
        "spread(a, b, c, sent_per_s)",
        "rank(a, b, c, sent_per_s)",
    ):
        found = measured(part(text), figures(few), 0.02)
        assert (found.low, found.high, found.n) == (None, None, 3)


# ---- verdicts


def facts(cell: str, **given: object) -> CellFacts:
    known = CellFacts(cell, RUN, {"driver_path": "c", "durability": "L4"}, {}, finished=6)
    return replace(known, **given)


def claim(measure: str, holds: str | None = None, **given: object) -> Claim:
    bound = parse_bound(holds) if holds else None
    parts = parse_measure(measure, bound, CELLS)
    return replace(Claim("k", "says", measure, holds or "", parts), **given)


def observed(
    values: dict[str, list[float]] = VALUES, absent: dict[str, str] | None = None, **cells: CellFacts
) -> Observed:
    known = {cell: [cells.get(cell, facts(cell))] for cell in values}
    return Observed(figures(values), known, absent or {})


def test_the_interval_decides() -> None:
    assert judged(claim("ratio(a, b, sent_per_s)", "> 1"), observed(), 1).verdict == "reproduced"
    assert judged(claim("ratio(a, b, sent_per_s)", "> 3"), observed(), 1).verdict == "contradicted"
    across = judged(claim("ratio(a, b, sent_per_s)", "> 2"), observed(), 1)
    assert across.verdict == "cannot tell"
    assert across.is_open
    assert "whether > 2 holds cannot be told" in across.reason


def test_more_looks_make_intervals_wider() -> None:
    one, three = (judged(claim("ratio(a, b, sent_per_s)", "> 1"), observed(), n).chief.measured for n in (1, 3))
    assert three.low < one.low < one.high < three.high
    assert error_level(3) == ALARMS / 3


def test_all_parts_must_hold_and_one_outside_contradicts() -> None:
    good = claim("all(ratio(a, b, sent_per_s) > 1, ratio(c, d, sent_per_s) > 1)")
    assert judged(good, observed(), 1).verdict == "reproduced"
    bad = judged(claim("all(ratio(a, b, sent_per_s) > 1, ratio(d, c, sent_per_s) > 1)"), observed(), 1)
    assert bad.verdict == "contradicted"
    assert bad.chief.part.cells == ("d", "c")
    unclear = judged(claim("all(ratio(a, b, sent_per_s) > 1, ratio(a, b, sent_per_s) > 2)"), observed(), 1)
    assert unclear.verdict == "cannot tell"


def test_unlike_cells_are_not_compared() -> None:
    other = facts("b", facts={"driver_path": "python", "durability": "L4"})
    found = judged(claim("ratio(a, b, sent_per_s)", "> 1"), observed(b=other), 1)
    assert found.verdict == "cannot tell"
    assert found.reason == "driver_path must be the same in all cells: c in a, python in b"
    assert not found.is_open  # more repeats would not help
    allowed = claim("ratio(a, b, sent_per_s)", "> 1", same=("durability",), unlike="only one client exists")
    assert judged(allowed, observed(b=other), 1).verdict == "reproduced"


def test_a_driver_that_may_be_the_limit_contradicts_nothing() -> None:
    slow = facts("b", facts={"driver_path": "python (client 1)", "durability": "L4"})
    fast = {cell: facts(cell, facts={"driver_path": f"native ({cell})", "durability": "L4"}) for cell in "ab"}
    asks = {"driver_path": "native", "same": ("durability",), "unlike": "clients of their own"}
    found = judged(claim("ratio(a, b, sent_per_s)", "> 3", **asks), observed(a=fast["a"], b=slow), 1)
    assert found.verdict == "not runnable here"
    assert found.reason == "b was driven by python (client 1), which may be the limit; the claim needs a native path"
    assert judged(claim("ratio(a, b, sent_per_s)", "> 3", **asks), observed(**fast), 1).verdict == "contradicted"


CPU = ("client_cpu_us_per_message", "broker_cpu_us_per_message")
BACKLOG_CPU = ("consumer_cpu_us_per_message", "backlog_broker_cpu_us_per_message")


def driven(path: str, **given: object) -> dict[str, CellFacts]:
    return {cell: facts(cell, facts={"driver_path": path, "durability": "L4"}, **given) for cell in "abcd"}


def with_cpu(cpu: dict[str, tuple[float, float]], known: Observed, names: tuple[str, str] = CPU) -> Observed:
    """Processor time of clients and servers for a message, by cell."""
    values = dict(known.figures.values)
    for i, name in enumerate(names):
        values[name] = {cell: {(RUN, r): both[i] for r in range(1, 7)} for cell, both in cpu.items()}
    return replace(known, figures=replace(known.figures, values=values))


FULL = "agent producer-1 used 0.98 cores (limit 0.95); the maximum found may be the agent's, not the broker's"


@pytest.mark.parametrize(
    ("holds", "saturated", "otherwise", "verdict"),
    [
        ("> 3", "a", "contradicted", "not runnable here"),  # with a faster driver a / b would be higher
        ("> 3", "b", "contradicted", "contradicted"),  # and here lower still
        ("> 1", "a", "reproduced", "reproduced"),
        ("> 1", "b", "reproduced", "not runnable here"),
        ("> 1", "ab", "reproduced", "not runnable here"),
        ("> 2", "a", "cannot tell", "not runnable here"),
        ("> 2", "b", "cannot tell", "not runnable here"),
        ("1 to 3", "a", "reproduced", "not runnable here"),
        ("0.1 to 1", "a", "contradicted", "contradicted"),
    ],
)
@pytest.mark.parametrize("path", ["python", "native"])
def test_a_saturated_agent_of_a_deciding_cell_makes_a_claim_not_runnable_here_unless_a_faster_one_would_say_the_same(
    holds: str, saturated: str, otherwise: str, verdict: str, path: str
) -> None:
    asked = claim("ratio(a, b, sent_per_s)", holds)
    cells = driven(path)
    assert judged(asked, observed(**cells), 1).verdict == otherwise
    for cell in saturated:
        cells[cell] = replace(cells[cell], saturated=FULL)
    found = judged(asked, observed(**cells), 1)
    assert found.verdict == verdict
    said = f"{saturated[0]}: its driver ({path}) is brokerlab's own and may be the limit: {FULL}"
    if verdict == "not runnable here":
        assert found.reason == said
        assert not found.is_open  # more repeats have the same driver
    else:
        assert found.reason.endswith(f"{said}; a faster driver would only make it clearer")
    assert FULL in found.chief.reason
    elsewhere = driven(path) | {"c": cells[saturated[0]]}
    assert judged(asked, observed(**elsewhere), 1).verdict == otherwise  # it is not a cell of the claim
    expecting = claim("ratio(a, b, sent_per_s)", holds, expects=("agent_saturated",))
    assert judged(expecting, observed(**cells), 1).verdict == otherwise


def test_what_a_faster_driver_would_do_is_known_of_rates_only() -> None:
    cells = driven("python")
    cells["b"] = replace(cells["b"], saturated=FULL)
    known = replace(observed(**cells), figures=figures(VALUES, "end_to_end_latency_p99_ns"))
    found = judged(claim("ratio(a, b, end_to_end_latency_p99_ns)", "> 3"), known, 1)
    assert found.verdict == "not runnable here"


@pytest.mark.parametrize(
    ("path", "clients_us", "verdict"),
    [
        ("python", 50.0, "not runnable here"),
        ("python", 19.0, "not runnable here"),  # about as much as the servers
        ("python", 17.0, "contradicted"),
        ("native", 50.0, "contradicted"),
    ],
)
def test_clients_in_python_that_take_as_much_processor_time_as_the_servers_decide_nothing(
    path: str, clients_us: float, verdict: str
) -> None:
    known = with_cpu({"a": (clients_us, 20.0), "b": (1.0, 20.0)}, observed(**driven(path)))
    asked = claim("ratio(a, b, sent_per_s)", "> 3")
    found = judged(asked, known, 1)
    assert found.verdict == verdict
    if verdict == "not runnable here":
        assert found.reason.endswith(
            f": clients took {clients_us:.3g} µs of processor time for a message, the servers 20 µs"
        )
    at_a_rate = replace(known, figures=replace(known.figures, configured={"a": 100.0, "b": 50.0}))
    assert judged(asked, at_a_rate, 1).verdict == "contradicted"  # it kept its schedule: nothing was at its limit


def test_of_a_backlog_the_processor_time_of_consumers_is_compared() -> None:
    metric = "backlog_received_per_s"
    known = replace(
        observed(**driven("python")), figures=figures(VALUES, metric, configured=dict.fromkeys("abcd", 9.0))
    )
    asked = claim(f"ratio(a, b, {metric})", "> 3")
    assert judged(asked, with_cpu({"a": (9.0, 1.0)}, known), 1).verdict == "contradicted"
    found = judged(asked, with_cpu({"a": (9.0, 1.0)}, known, BACKLOG_CPU), 1)
    assert (found.verdict, "consumers took 9 µs" in found.reason) == ("not runnable here", True)


def test_a_part_that_no_driver_limits_still_contradicts() -> None:
    cells = driven("python")
    cells["a"] = replace(cells["a"], saturated=FULL)
    both = claim("all(ratio(a, b, sent_per_s) > 3, ratio(d, c, sent_per_s) > 1)")
    found = judged(both, observed(**cells), 1)
    assert (found.verdict, found.chief.part.cells) == ("contradicted", ("d", "c"))
    other = judged(claim("all(ratio(c, d, sent_per_s) > 1, ratio(a, b, sent_per_s) > 3)"), observed(**cells), 1)
    assert (other.verdict, other.chief.part.cells) == ("not runnable here", ("a", "b"))


def test_a_cell_that_does_not_hold_stops_the_claim_unless_it_expects_the_reason() -> None:
    unsteady = facts(
        "b", answers={"rates": "cannot tell"}, reasons=(CellReason("not_steady", ("rates",), "its rate sways"),)
    )
    found = judged(claim("ratio(a, b, sent_per_s)", "> 1"), observed(b=unsteady), 1)
    assert (found.verdict, found.reason) == ("cannot tell", "the rates of b do not hold: its rate sways (not_steady)")
    expecting = claim("ratio(a, b, sent_per_s)", "> 1", expects=("not_steady",))
    assert judged(expecting, observed(b=unsteady), 1).verdict == "reproduced"
    latency_only = replace(unsteady, answers={"latencies": "invalid"})
    assert judged(claim("ratio(a, b, sent_per_s)", "> 1"), observed(b=latency_only), 1).verdict == "reproduced"


def test_cells_that_cannot_run_or_failed_make_it_not_runnable_here() -> None:
    asked = claim("ratio(a, b, sent_per_s)", "> 1")
    found = judged(asked, observed(absent={"b": "there is no such system"}), 1)
    assert (found.verdict, found.reason) == ("not runnable here", "b: there is no such system")
    died = facts("b", finished=0, failed=4, failure="node 1 died")
    found = judged(asked, observed(b=died), 1)
    assert (found.verdict, found.reason) == ("not runnable here", "every execution of b failed: node 1 died")
    assert judged(asked, observed(), 1, "needs 8 processors").reason == "needs 8 processors"


def test_what_was_not_run_or_has_no_value_cannot_be_told() -> None:
    asked = claim("ratio(a, b, sent_per_s)", "> 1")
    never = judged(asked, observed({"a": VALUES["a"]}), 1)
    assert (never.verdict, never.reason) == ("cannot tell", "b is not measured yet")
    zero = judged(asked, observed({"a": VALUES["a"], "b": [0.0] * 6}), 1)
    assert (zero.verdict, zero.reason) == ("cannot tell", "sent_per_s of b is zero, and zero has no ratio")
    few = judged(asked, observed({c: v[:3] for c, v in VALUES.items()}), 1)
    assert (few.verdict, few.reason) == ("cannot tell", "repeats: 3, needed: 4")


def test_claims_of_equal_cells_are_rarely_wrong() -> None:
    """A/A: 400 claims that two identical cells differ by 5 % either way; at three looks together none may err often."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(400):
        values = {cell: list(100 * np.exp(rng.normal(0, 0.03, 8))) for cell in "abcd"}
        looks = [
            judged(claim("ratio(a, b, sent_per_s)", "> 1"), observed({c: v[:n] for c, v in values.items()}), 3)
            for n in (4, 6, 8)
        ]
        wrong += any(look.verdict != "cannot tell" for look in looks)
    assert wrong / 400 <= ALARMS + 0.02


def test_a_bound_that_is_not_given_contains_everything() -> None:
    assert Bound("any").place(-1e9, 1e9) == "inside"
