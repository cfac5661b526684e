"""brokerlab plan FILE"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from brokerlab.cli import options
from brokerlab.cli.planning import plan_from, planning_options
from brokerlab.cli.text import aligned, bytes_text, count_text, duration_text, print_json
from brokerlab.cli.verdict_text import left_out_lines

if TYPE_CHECKING:
    from brokerlab.lab import Estimate, PlannedSettings
    from brokerlab.model.plan import CellPlan, RunPlan


@click.command()
@click.argument("file")
@planning_options
@options.as_json
def command(
    file: str,
    overrides: tuple[str, ...],
    brokers: str | None,
    repeats: int | None,
    tag: str | None,
    endpoints: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show what FILE (or a shipped workload's name) would do, and start nothing."""
    from brokerlab import lab

    plan = plan_from(file, overrides, brokers, repeats, tag, endpoints)
    rough = lab.estimate(plan)
    settings = {c.cell: lab.planned_settings(c) for c in plan.cells}
    if as_json:
        by_cell = {cell: vars(used) for cell, used in settings.items()}
        print_json({"plan": plan.model_dump(mode="json"), "estimate": vars(rough), "settings": by_cell})
        return 0
    for line in _lines(plan, rough, settings):
        click.echo(line)
    return 0


def _lines(plan: RunPlan, rough: Estimate, settings: dict[str, PlannedSettings]) -> list[str]:
    lines = [click.style(plan.name, bold=True)]
    if plan.question:
        lines.append(f"question: {plan.question}")
    lines += ["", *_cell_table(plan.cells), "", *left_out_lines(plan)]
    if len({c.durability for c in plan.cells}) > 1:
        lines.append("levels:   cells differ in durability; only cells of the same level are compared")
    order = [
        f"{cell}{'' if n == 1 else f' x{n}'}"
        for cell, n in ((c, sum(1 for _ in g)) for c, g in groupby(e.cell for e in plan.order))
    ]
    data = (
        "unknown (closed loop)" if rough.broker_data_bytes is None else f"up to {bytes_text(rough.broker_data_bytes)}"
    )
    lines.append(f"order: {' '.join(order)}  ({len(plan.order)} executions)")
    again = f"; more if executions are spoiled and run again (retries: {plan.retries})" if plan.retries else ""
    lines.append(f"time:  about {duration_text(rough.seconds)}{again}")
    lines.append(f"disk:  {data} of broker data at a time, about {bytes_text(rough.evidence_bytes)} of evidence kept")
    lines += [f"objective: {o.text}" for o in plan.objectives]
    for cell in plan.cells:
        lines += ["", f"{cell.cell} would use:", *_setting_lines(settings[cell.cell])]
    return lines


def _cell_table(cells: tuple[CellPlan, ...]) -> list[str]:
    head = ["cell", "", "nodes", "durability", "load", "producers", "consumers", "warm-up", "measure"]
    rows = [
        [
            c.cell, c.label, str(c.nodes), str(c.durability), load_text(c), str(c.producers.count),
            " + ".join(f"{of.groups} x {of.per_group}" for of in c.consumer_sets) or "0",
            duration_text(c.phases.warm_up_s), _measure_text(c),
        ]
        for c in cells
    ]  # fmt: skip
    return aligned([head, *rows])


def _measure_text(cell: CellPlan) -> str:
    messages, limit = cell.producers.messages, duration_text(cell.phases.measure_s)
    return limit if messages is None else f"{count_text(messages)} messages, at most {limit}"


def load_text(cell: CellPlan) -> str:
    """The load in a few words: "20,000/s poisson, 1.0 KiB"."""
    from brokerlab.model.planned_load import mean_message_bytes, mean_rate_per_s

    rate, size = mean_rate_per_s(cell), mean_message_bytes(cell)
    schedule = cell.producers.schedule
    what = f"closed, window {schedule.window}" if rate is None else f"{count_text(rate)}/s {schedule.arrival}"
    if schedule.batch_least is not None:
        what = f"closed, batches of {schedule.batch_least} to {schedule.window}"
    return f"{what}, {bytes_text(size) if size is not None else cell.producers.payload.kind}"


def _setting_lines(used: PlannedSettings) -> list[str]:
    because = ", ".join(f"{k}={v}" for k, v in used.durability_because.items())
    rows = [
        ["  broker", used.broker],
        ["  durability", f"{used.durability}{f' because {because}' if because else ''}"],
        ["  acknowledged", used.acknowledgement],
        *([["  security", used.security]] if used.security else []),
        *(["  fault", text] for text in used.faults),
        ["  cluster", used.cluster],
        ["  driver", f"{used.driver} (C library {used.native_library})"],
    ]
    for name, given in (("broker_settings", used.broker_settings), ("client_settings", used.client_settings)):
        if given:
            rows.append([f"  {name}", ", ".join(f"{k}={v}" for k, v in given.items())])
    return aligned(rows)
