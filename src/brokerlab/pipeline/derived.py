"""Tables made from other result tables, without Spark: the one place where they are put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brokerlab.judge.figures import Figures
from brokerlab.judge.scaling_rows import scaling_rows
from brokerlab.judge.verdict import Judgement
from brokerlab.model.environment import Environment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import METRICS
from brokerlab.model.plan import RunPlan
from brokerlab.pipeline.catch_up import backlogs, catch_up_rows, clocks
from brokerlab.pipeline.cost import cost_rows
from brokerlab.pipeline.dips import dip_rows
from brokerlab.pipeline.faults import begun_faults
from brokerlab.pipeline.gold import Gold
from brokerlab.pipeline.minute_rate import minute_rate_rows
from brokerlab.pipeline.recount import recount_rows
from brokerlab.results.derived_tables import CATCH_UP, COST, DIP, EXECUTION_FIGURE, MINUTE_RATE, RECOUNT, SCALING

Rows = list[dict[str, Any]]


def before_judgement(
    plan: RunPlan, environment: Environment, gold: Gold, rows: Mapping[str, list[Any]]
) -> dict[str, Rows]:
    """Tables whose figures the verdict and run_summary use. `rows` are the result tables by name."""
    rates = rows["rate_per_second"]
    agents = {r["agent"] for r in rows["agent_health"]} | _agents_read(rows["reading_per_second"])
    after_backlog = {
        c.cell for c in plan.cells if c.groups and all(s.start == "after_backlog" for s in c.consumer_sets)
    }
    recounted = recount_rows(
        gold.messages,
        rows["delivery"],
        rows["latency_histogram"],
        _whole(gold, rows["quarantined_row"]),
    )
    return {
        RECOUNT.name: recounted,
        COST.name: cost_rows(rates, rows["reading_per_second"], agents, after_backlog),
        MINUTE_RATE.name: minute_rate_rows(rates, rows["reading_per_second"]),
        DIP.name: dip_rows(begun_faults(gold.events), rows["fault"], rates, environment),
        CATCH_UP.name: catch_up_rows(gold.arrivals, backlogs(gold.events), rates, clocks(environment)),
    }


def _agents_read(readings: list[Any]) -> set[str]:
    """Agents whose processes were read, those that did nothing in the measure phase included."""
    names = {r["subject"].removeprefix("process:") for r in readings}
    return {name for name in names if name.startswith(("producer-", "consumer-"))}


def _whole(gold: Gold, quarantined: list[Any]) -> set[ExecutionId]:
    """Executions of which single messages were kept and that lack no evidence at all."""
    broken = {ExecutionId.of(r) for r in quarantined}
    kept = gold.bronze.with_messages()
    facts = [(ExecutionId(cell=f.cell, repeat=f.repeat), f.whole) for f in gold.executions]
    return {e for e, whole in facts if whole and str(e) in kept and e not in broken}


def after_judgement(plan: RunPlan, figures: Figures, judgement: Judgement) -> dict[str, Rows]:
    """Tables that nothing is judged by."""
    valid = {c.cell for c in judgement.verdict.cells if c.rates == "valid"}
    return {
        EXECUTION_FIGURE.name: execution_figures(figures),
        SCALING.name: scaling_rows(figures, plan, judgement.counted.__contains__, valid.__contains__),
    }


def execution_figures(figures: Figures) -> Rows:
    """Rows of the table of that name, in order of cell, repeat and metric."""
    found = [
        {"cell": cell, "repeat": repeat, "metric": metric, "unit": METRICS[metric].unit, "value": float(value)}
        for (cell, metric), values in figures.items()
        for repeat, value in values.items()
    ]
    return sorted(found, key=lambda r: (r["cell"], r["repeat"], r["metric"]))
