"""Running a study: what is run, in which order, when it stops, and how it goes on; with a laboratory without brokers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from brokerlab.errors import InterruptedRunError, NotFoundError
from brokerlab.judge.claim_rows import Member
from brokerlab.judge.claims import JudgedClaim
from brokerlab.model.listener import SilentListener
from brokerlab.model.plan import RunPlan
from brokerlab.results.directory import RunDirectory
from brokerlab.results.tables import RATE_PER_SECOND
from brokerlab.results.verdict import Reason
from brokerlab.studies.answer import Place
from brokerlab.studies.answer import planned as answered_plan
from brokerlab.studies.load import load_study
from brokerlab.studies.looks import judged_so_far
from brokerlab.studies.planning import Machine, StudyPlan, plan_study, unmet_requirement
from brokerlab.studies.running import RunningStudy, ended_runs, question
from brokerlab.workload.estimate import START_S_PER_NODE
from study_runs import STUDY, FakeLab, write_study
from synthetic_tables import write_table

MEANS = {"slow": 100.0, "fast": 200.0, "other": 201.0}


def truth(label: str, metric: str, number: int, means: dict[str, float] = MEANS) -> float | None:
    rng = np.random.default_rng([number, sum(label.encode())])
    return 0.0 if metric == "lost" else means[label] * float(np.exp(rng.normal(0, 0.02)))


class Notes(SilentListener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)


class Desk:
    """A study in a folder, its runs and its laboratory."""

    def __init__(self, root: Path, study: str = STUDY, **given: object) -> None:
        self.study = load_study(write_study(root / "study", study))
        self.runs = root / "runs"
        self.lab = FakeLab(self.runs, truth, **given)
        self.notes = Notes()

    def run(self, only: tuple[str, ...] = (), *, fresh: bool = False) -> RunningStudy:
        running = RunningStudy(self.study, "quick", self.runs, self.lab, self.notes, only)
        running.run(fresh=fresh)
        return running

    def ran(self) -> list[tuple[tuple[str, ...], int]]:
        return [(tuple(c.label for c in p.cells), p.repeats) for p in self.lab.ran]

    def verdicts(self, running: RunningStudy) -> dict[str, JudgedClaim]:
        plan = running.plan(None)
        asked = question(plan, running.record, self.runs)
        return {j.claim.id: j for j in judged_so_far(asked, ended_runs(running.record, self.runs))}


@pytest.fixture
def desk(tmp_path: Path) -> Callable[..., Desk]:
    return lambda study=STUDY, **given: Desk(tmp_path, study, **given)


def test_cells_whose_claims_are_clear_stop_first(desk: Callable[..., Desk]) -> None:
    d = desk()
    running = d.run()
    # `twice` is clear after 4 repeats; `open` is not, so its two cells go on to 6 and 8.
    assert d.ran() == [(("slow", "fast", "other"), 4), (("fast", "other"), 2), (("fast", "other"), 2)]
    verdicts = d.verdicts(running)
    assert verdicts["twice"].verdict == "reproduced"
    assert (verdicts["open"].verdict, verdicts["open"].chief.measured.n) == ("cannot tell", 8)
    assert len({p.tag for p in d.lab.ran}) == 3


def test_a_claim_with_too_few_values_is_looked_at_again(desk: Callable[..., Desk]) -> None:
    """The first execution of `slow` has no rate: values of the others keep their rounds."""
    d = desk()
    d.lab = FakeLab(d.runs, lambda label, metric, n: None if (label, n) == ("slow", 101) else truth(label, metric, n))
    running = d.run(only=("twice",))
    assert d.ran() == [(("slow", "fast"), 4), (("slow", "fast"), 2)]
    found = d.verdicts(running)["twice"]
    assert (found.verdict, found.chief.measured.n) == ("reproduced", 5)
    numbers = [102, 103, 104, 201, 202]
    ratios = [np.log(truth("fast", "sent_per_s", n) / truth("slow", "sent_per_s", n)) for n in numbers]
    assert found.chief.measured.value == pytest.approx(float(np.exp(np.mean(ratios))))


def test_no_look_is_announced_that_would_look_at_nothing(desk: Callable[..., Desk]) -> None:
    d = desk()
    d.run(only=("twice",))
    assert [line for line in d.notes.lines if line.startswith("look ")] == ["look 1 of 3: 2 cells, 4 repeats each"]


def test_the_same_command_does_nothing_more_and_fresh_begins_again(desk: Callable[..., Desk]) -> None:
    d = desk()
    d.run()
    d.run()
    assert len(d.lab.ran) == 3
    d.run(fresh=True)
    assert len(d.lab.ran) == 6


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_study_that_was_cut_off_goes_on_with_the_run_that_was_cut_off(desk: Callable[..., Desk], number: int) -> None:
    d = desk()
    d.lab.interrupt_at = number
    with pytest.raises(InterruptedRunError):
        d.run()
    running = d.run()
    again = d.lab.ran[number]
    assert again.fingerprint == d.lab.ran[number - 1].fingerprint  # the laboratory resumes it
    assert len(d.lab.ran) == 4
    assert [s.run != "" for s in running.record.steps] == [True] * 3


def test_a_run_that_was_never_begun_is_planned_again(desk: Callable[..., Desk]) -> None:
    d = desk()
    running = d.run(only=("twice",))
    lost = running.record.steps[0].model_copy(update={"run": "", "run_fingerprint": "f" * 64})
    running.directory.write(running.record.model_copy(update={"steps": (lost,)}))
    d.run(only=("twice",))
    assert d.ran() == [(("slow", "fast"), 4), (("slow", "fast"), 4)]


def test_only_the_cells_of_the_wanted_claims_run_and_what_they_lack_later(desk: Callable[..., Desk]) -> None:
    d = desk()
    d.run(only=("twice",))
    assert d.ran() == [(("slow", "fast"), 4)]
    d.run()
    assert d.ran()[1] == (("other",), 4)  # the others have their repeats
    with pytest.raises(NotFoundError, match="has no claim 'twise'"):
        d.run(only=("twise",))


def test_a_changed_cell_is_measured_again(desk: Callable[..., Desk], tmp_path: Path) -> None:
    d = desk()
    d.run(only=("twice",))
    d.study = load_study(
        write_study(tmp_path / "study", STUDY.replace("slow: {producers.rate: 100/s}", "slow: {producers.rate: 50/s}"))
    )
    d.run(only=("twice",))
    assert d.ran()[1] == (("slow",), 4)


def test_an_edited_claim_is_contradicted_by_the_same_runs(desk: Callable[..., Desk], tmp_path: Path) -> None:
    d = desk()
    running = d.run(only=("twice",))
    assert d.verdicts(running)["twice"].verdict == "reproduced"
    d.study = load_study(write_study(tmp_path / "study", STUDY.replace("holds: 1.5 to 2.5", "holds: 3.5 to 4.5")))
    running = d.run(only=("twice",))
    assert len(d.lab.ran) == 1
    assert d.verdicts(running)["twice"].verdict == "contradicted"


DURING = (
    STUDY
    + """\
  - id: later
    says: the rate falls
    measure: during(slow, sent_per_s, 2s to 4s, 0s to 2s)
    holds: below 1
"""
)


class LabWithSeconds(FakeLab):
    """Its runs have seconds; the rate of the last two is that of the first two, times `falls` and some noise."""

    falls = 1.0

    def run(self, plan: RunPlan) -> RunDirectory:
        run = super().run(plan)
        rng = np.random.default_rng([7, len(self.ran)])
        rows = []
        for e in plan.order:
            later = self.falls * float(np.exp(rng.normal(0, 0.02)))
            for s in range(4):
                counts = dict.fromkeys(("due", "acknowledged", "rejected", "unknown", "received", "buffer_full"), 0)
                rows.append(
                    {**counts, "run": run.name, "cell": e.cell, "repeat": e.repeat, "second_unix_s": 100 * e.repeat + s,
                     "phase": "measure", "role": "producer", "group": "", "sent": round(10_000 * (later if s >= 2 else 1)),
                     "bytes": 1}
                )  # fmt: skip
        write_table(run.path, RATE_PER_SECOND, rows)
        return run


@pytest.mark.parametrize(("falls", "looks", "verdict"), [(1.0, 3, "cannot tell"), (0.5, 1, "reproduced")])
def test_a_claim_about_a_part_of_the_time_is_looked_at_again_while_it_is_not_clear(
    desk: Callable[..., Desk], falls: float, looks: int, verdict: str
) -> None:
    d = desk(DURING)
    d.lab = LabWithSeconds(d.runs, truth)
    d.lab.falls = falls
    running = d.run(only=("later",))
    assert d.ran() == [(("slow",), n) for n in (4, 2, 2)[:looks]]
    found = d.verdicts(running)["later"]
    assert (found.verdict, found.chief.measured.n) == (verdict, 4 + 2 * (looks - 1))
    assert found.chief.measured.value == pytest.approx(falls, rel=0.03)


CALIBRATED = STUDY.replace(
    "fast: {producers.rate: {quick: 200/s}}", "fast: {producers.rate: 0.5 of calibrated}"
).replace("experiments:", "calibrate: {cell: slow, metric: sent_per_s}\nexperiments:", 1)


def test_rates_are_shares_of_what_was_calibrated_first(desk: Callable[..., Desk]) -> None:
    d = desk(CALIBRATED)
    running = d.run(only=("twice",))
    assert d.ran()[:2] == [(("slow",), 2), (("slow", "fast"), 4)]
    fast = next(c for c in d.lab.ran[1].cells if c.label == "fast")
    assert fast.producers.schedule.rate_per_s == pytest.approx(50, rel=0.1)
    calibrated = running.record.steps[0]
    assert calibrated.calibrates
    d.run(only=("twice",))
    assert len(d.lab.ran) == 2  # the calibration of this pass holds


def changed(d: Desk, study: str) -> None:
    """The study with longer phases: no cell is what it was."""
    longer = study.replace("{warm_up: 1s, measure: 5s}", "{warm_up: 1s, measure: 6s}")
    d.study = load_study(write_study(d.study.folder, longer))


def test_a_changed_study_is_answered_by_its_new_calibration(desk: Callable[..., Desk]) -> None:
    d = desk(CALIBRATED)
    d.run(only=("twice",))
    changed(d, CALIBRATED)
    running = d.run(only=("twice",))
    assert d.ran() == [(("slow",), 2), (("slow", "fast"), 4)] * 2
    first, second = (next(c for c in d.lab.ran[i].cells if c.label == "fast") for i in (1, 3))
    assert first.producers.schedule.rate_per_s != second.producers.schedule.rate_per_s
    asked = answered_plan(d.study, "quick", Place(d.runs, "", nullcontext))
    assert question(asked, running.record, d.runs).members == (
        Member("rates", "slow", d.lab.ran[3].run, "c01"),
        Member("rates", "fast", d.lab.ran[3].run, "c02"),
    )


def test_what_a_changed_study_no_longer_asks_for_takes_nothing_of_its_budget(desk: Callable[..., Desk]) -> None:
    d = desk()
    before = d.run(only=("twice",))
    measured_s = before._measured_s(before.plan(None))
    changed(d, STUDY)
    after = d.run(only=("twice",))
    assert after._measured_s(after.plan(None)) == measured_s > 0


def test_a_run_that_was_cut_off_before_the_study_was_changed_is_left_as_it_is(desk: Callable[..., Desk]) -> None:
    d = desk()
    d.lab.interrupt_at = 1
    with pytest.raises(InterruptedRunError):
        d.run(only=("twice",))
    changed(d, STUDY)
    d.run(only=("twice",))
    assert len(d.lab.ran) == 2
    assert d.lab.ran[0].fingerprint != d.lab.ran[1].fingerprint
    assert not any("going on" in line for line in d.notes.lines)


def test_the_budget_ends_looks_but_never_the_first(desk: Callable[..., Desk]) -> None:
    d = desk(STUDY.replace("    repeats: {least: 4, most: 8}", "    budget: 1s\n    repeats: {least: 4, most: 8}"))
    d.run()
    assert d.ran() == [(("slow", "fast", "other"), 4)]
    assert any("budget" in line for line in d.notes.lines)


def test_a_system_that_cannot_be_installed_is_not_run(desk: Callable[..., Desk]) -> None:
    d = desk(STUDY.replace("other: {producers.rate: 300/s, producers.message: 300B}", "other: {broker: faulty}"))
    d.lab.no_brokers = ("faulty",)
    running = d.run()
    assert d.ran() == [(("slow", "fast"), 4)]
    found = d.verdicts(running)["open"]
    assert (found.verdict, found.reason) == ("not runnable here", "other: faulty cannot be installed: no network")
    d.lab.no_brokers = ()  # the network is back
    d.run()
    assert d.ran()[1] == (("other",), 4)


def test_a_cell_that_fails_makes_its_claims_not_runnable_and_leaves_the_others(desk: Callable[..., Desk]) -> None:
    d = desk(failed=("other",))
    verdicts = d.verdicts(d.run())
    assert (verdicts["open"].verdict, verdicts["open"].reason) == (
        "not runnable here",
        "every execution of other failed: it died",
    )
    assert verdicts["twice"].verdict == "reproduced"
    assert len(d.lab.ran) == 1


def test_reasons_of_cells_reach_the_claim(desk: Callable[..., Desk]) -> None:
    late = Reason(code="send_delay", weight="invalid", cell="c01", repeat=1, text="it was late", affects=("rates",))
    d = desk(verdicts={"slow": {"rates": "invalid"}}, reasons=[late])
    found = d.verdicts(d.run(only=("twice",)))["twice"]
    assert (found.verdict, found.reason) == (
        "cannot tell",
        "the rates of slow do not hold: it was late (send_delay)",
    )


@pytest.mark.parametrize(("weight", "answer"), [("note", "valid"), ("invalid", "invalid")])
def test_a_saturated_agent_reaches_the_claim_even_as_a_note(
    desk: Callable[..., Desk], weight: str, answer: str
) -> None:
    full = Reason(
        code="agent_saturated", weight=weight, cell="c01", repeat=1, text="an agent was full", affects=("rates",)
    )
    d = desk(verdicts={"slow": {"rates": answer}}, reasons=[full])
    found = d.verdicts(d.run(only=("twice",)))["twice"]
    assert (found.verdict, found.reason) == (
        "not runnable here",
        "slow: its driver (python) is brokerlab's own and may be the limit: an agent was full",
    )
    assert len(d.lab.ran) == 1  # another look would have the same driver


def test_clients_that_take_more_than_the_servers_reach_the_claim_by_the_figures_of_its_runs(
    desk: Callable[..., Desk],
) -> None:
    def costs(label: str, metric: str, number: int) -> float | None:
        return {"client_cpu_us_per_message": 60.0, "broker_cpu_us_per_message": 20.0}.get(metric) or truth(
            label, metric, number
        )

    closed = STUDY.replace("producers.rate: 100/s", "producers.rate: null, producers.window: 10")
    d = desk(closed, metrics=("sent_per_s", "client_cpu_us_per_message", "broker_cpu_us_per_message"))
    d.lab.truth = costs
    found = d.verdicts(d.run(only=("twice",)))["twice"]
    assert found.verdict == "not runnable here"
    assert "slow: " in found.reason
    assert "clients took 60 µs of processor time for a message, the servers 20 µs" in found.reason


def test_a_claim_is_not_doubted_for_what_was_set_aside(desk: Callable[..., Desk]) -> None:
    """The cell is unsteady, which the claim expects; another reason is that of an execution that does not count."""
    noisy = Reason(
        code="noisy_neighbour", weight="cannot tell", cell="c01", repeat=2, text="0.6 cores", affects=("rates",)
    )
    unsteady = Reason(
        code="not_steady", weight="cannot tell", cell="c01", repeat=1, text="it varies", affects=("rates",)
    )
    aside = {"repeat": 2, "code": "noisy_neighbour", "text": "0.6 cores"}
    said = {"slow": {"rates": "cannot tell", "set_aside": [aside]}}
    d = desk(
        STUDY.replace("holds: 1.5 to 2.5", "holds: 1.5 to 2.5\n    expects: [not_steady]"),
        verdicts=said,
        reasons=[noisy, unsteady],
    )
    assert d.verdicts(d.run(only=("twice",)))["twice"].verdict == "reproduced"


def planned(d: Desk, machine: Machine, study: str = STUDY) -> StudyPlan:
    return plan_study(load_study(write_study(d.study.folder, study)), "quick", machine, d.lab.plan, d.lab.estimate)


def test_a_disk_too_small_is_said_by_the_plan(desk: Callable[..., Desk]) -> None:
    plan = planned(desk(), Machine(2, 1 << 30, 300_000))
    assert plan.cannot_answer() == {"open": "other: needs about 527 KiB of disk, 293 KiB are free"}
    assert plan.running_cells() == ("slow", "fast")


def test_requirements_that_are_not_met_are_said_by_the_plan(desk: Callable[..., Desk]) -> None:
    machine = Machine(2, 8 << 30, 1 << 40)
    text = STUDY.replace("holds: 1.5 to 2.5", "holds: 1.5 to 2.5\n    requires: {cpu_count: 8, because: nine nodes}")
    plan = planned(desk(), machine, text)
    assert plan.cannot_answer() == {"twice": "needs 8 processors, this machine has 2: nine nodes"}
    requires = plan.study.requires("twice")
    assert unmet_requirement(requires.model_copy(update={"cpu_count": 2, "memory": 16 << 30}), machine, "quick") == (
        "needs 16 GiB of memory, this machine has 8 GiB: nine nodes"
    )
    assert unmet_requirement(requires.model_copy(update={"cpu_count": None, "scale": "full"}), machine, "quick") == (
        "only the scale full answers it: nine nodes"
    )
    assert unmet_requirement(requires.model_copy(update={"cpu_count": None}), machine, "quick") == ""
    least, most = plan.seconds()
    assert 0 < least < most


def test_a_claim_about_a_product_is_not_answered_by_what_stands_in_for_it(desk: Callable[..., Desk]) -> None:
    machine = Machine(2, 8 << 30, 1 << 40)
    asks = "holds: 1.5 to 2.5\n    requires: {server: {memory: Kafka}, because: another product}"
    assert planned(desk(), machine, STUDY.replace("holds: 1.5 to 2.5", asks)).cannot_answer() == {
        "twice": "needs memory to be Kafka, and here it is 1: another product"
    }
    met = STUDY.replace("holds: 1.5 to 2.5", asks.replace("Kafka", '"1"'))
    assert planned(desk(), machine, met).cannot_answer() == {}


def test_a_claim_that_needs_a_native_driver_says_which_broker_has_none(desk: Callable[..., Desk]) -> None:
    machine = Machine(2, 8 << 30, 1 << 40)
    asks = "holds: 1.5 to 2.5\n    requires: {driver_path: native}"
    text = STUDY.replace("holds: 1.5 to 2.5", asks)
    said = planned(desk(), machine, text).cannot_answer()["twice"]
    assert said.startswith("fast needs a native driver, because a slower one of ours may be the limit: ")
    assert said.endswith("no native path")
    with_one = text.replace("slow: {", "slow: {broker: nats, ").replace("fast: {", "fast: {broker: nats, ")
    assert planned(desk(), machine, with_one).cannot_answer() == {}


def test_cells_that_only_figures_of_another_scale_draw_do_not_run(desk: Callable[..., Desk]) -> None:
    machine = Machine(2, 8 << 30, 1 << 40)
    text = STUDY.replace("x: configured rate}", "x: configured rate, scale: full}").replace("other, fast", "fast, slow")
    plan = planned(desk(), machine, text)
    assert plan.running_cells() == ("slow", "fast")
    assert plan.only_at_another_scale() == {"other"}
    whole = planned(desk(), machine, text.replace(", scale: full", ""))
    assert whole.running_cells() == ("slow", "fast", "other")
    assert whole.only_at_another_scale() == frozenset()
    assert whole.seconds()[0] > plan.seconds()[0]


def test_executions_that_share_a_kept_cluster_start_it_once_in_the_estimate(desk: Callable[..., Desk]) -> None:
    machine = Machine(2, 8 << 30, 1 << 40)
    fresh = planned(desk(), machine)
    kept = planned(desk(), machine, STUDY.replace("    phases:", "    cluster: kept\n    phases:"))
    starts = fresh.looks[0] * len(fresh.running_cells())
    assert fresh.seconds()[0] - kept.seconds()[0] == pytest.approx(START_S_PER_NODE * (starts - 1))


def test_one_by_one_runs_all_repeats_on_a_cluster_before_the_next_is_started(desk: Callable[..., Desk]) -> None:
    text = STUDY.replace("    phases:", "    cluster: one_by_one\n    phases:").replace(
        "other: {producers.rate: 300/s, producers.message: 300B}", "other: {producers.rate: 300/s, broker: faulty}"
    )
    d = desk(text)
    d.run(("twice", "open"))
    first = d.lab.ran[0]
    names = {c.cell: c.label for c in first.cells}
    ran = [(names[e.cell], e.repeat) for e in first.order]
    assert [n for n, _ in ran[8:]] == ["other"] * 4
    assert [r for _, r in ran[:8]] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert all(c.kept_cluster for c in first.cells)
    interleaved = planned(d, Machine(2, 8 << 30, 1 << 40), text.replace("one_by_one", "kept"))
    in_turn = planned(d, Machine(2, 8 << 30, 1 << 40), text)
    assert in_turn.seconds()[0] < interleaved.seconds()[0]
