"""brokerlab plan FILE"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.planning import plan_from, planning_options
from brokerlab.cli.text import aligned, bytes_text, count_text, duration_text, print_json

if TYPE_CHECKING:
    from brokerlab.brokers.contract import Broker
    from brokerlab.cli.estimate import Estimate
    from brokerlab.model.plan import CellPlan, RunPlan, Security


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
    from brokerlab.cli.estimate import estimate

    plan = plan_from(file, overrides, brokers, repeats, tag, endpoints)
    rough = estimate(plan)
    settings = {c.cell: _settings(c) for c in plan.cells}
    if as_json:
        print_json({"plan": plan.model_dump(mode="json"), "estimate": vars(rough), "settings": settings})
        return 0
    for line in _lines(plan, rough, settings):
        click.echo(line)
    return 0


def _settings(cell: CellPlan) -> dict[str, Any]:
    """What the cell would use, as far as it is known before any broker is asked."""
    from brokerlab import native
    from brokerlab.brokers.contract import PlansDurability
    from brokerlab.brokers.registry import broker_named

    front = broker_named(cell.broker)
    why_not = native.why_not()
    because = front.planned_durability(cell).because if isinstance(front, PlansDurability) else {}
    return {
        "broker": _product(front, cell),
        "durability": str(cell.durability),
        "durability_because": because,
        "acknowledgement": front.capabilities.acknowledgement,
        "security": security_text(cell.security),
        "faults": [f"{f.kind} {f.target} {f.at_s:g} s into measure" for f in cell.faults],
        "driver": cell.driver,
        "native_library": "available" if not why_not else f"not available: {why_not}",
        "broker_settings": dict(cell.broker_settings),
        "client_settings": dict(cell.client_settings),
    }  # fmt: skip


def _product(front: Broker, cell: CellPlan) -> str:
    if cell.endpoint:
        return f"{front.product} at {','.join(cell.endpoint)}"
    return f"{front.product} {front.installation().version or front.version}"


def security_text(security: Security | None) -> str | None:
    """What is asked of whom, and where the password is looked for; None without security."""
    if security is None:
        return None
    who = f", user {security.user}, password in {security.password}" if security.password is not None else ""
    note = "; the password crosses the wire readable" if security.password is not None and not security.tls else ""
    return f"{security.words()}{who}{note}"


def left_out_lines(plan: RunPlan) -> list[str]:
    """Brokers that `all` means and that are not run."""
    return [f"left out: {one.broker}: {one.reason}" for one in plan.left_out]


def _lines(plan: RunPlan, rough: Estimate, settings: dict[str, dict[str, Any]]) -> list[str]:
    lines = [click.style(plan.name, bold=True)]
    if plan.question:
        lines.append(f"question: {plan.question}")
    lines += ["", *_cell_table(plan.cells), "", *left_out_lines(plan)]
    if len({c.durability for c in plan.cells}) > 1:
        lines.append("levels:   cells differ in durability; they are compared within a level, not across")
    order = [
        f"{cell}{'' if n == 1 else f' x{n}'}"
        for cell, n in ((c, sum(1 for _ in g)) for c, g in groupby(e.cell for e in plan.order))
    ]
    data = (
        "unknown (closed loop)" if rough.broker_data_bytes is None else f"up to {bytes_text(rough.broker_data_bytes)}"
    )
    lines.append(f"order: {' '.join(order)}  ({len(plan.order)} executions)")
    again = f"; plus that of executions that others disturb (retries: {plan.retries})" if plan.retries else ""
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
            f"{c.consumers.groups} x {c.consumers.per_group}",
            duration_text(c.phases.warm_up_s), duration_text(c.phases.measure_s),
        ]
        for c in cells
    ]  # fmt: skip
    return aligned([head, *rows])


def load_text(cell: CellPlan) -> str:
    """The load in a few words: "20,000/s poisson, 1.0 KiB"."""
    from brokerlab.cli.estimate import mean_message_bytes, mean_rate_per_s

    rate, size = mean_rate_per_s(cell), mean_message_bytes(cell)
    schedule = cell.producers.schedule
    what = f"{count_text(rate)}/s {schedule.arrival}" if rate is not None else f"closed, window {schedule.window}"
    return f"{what}, {bytes_text(size) if size is not None else cell.producers.payload.kind}"


def _setting_lines(settings: dict[str, Any]) -> list[str]:
    because = ", ".join(f"{k}={v}" for k, v in settings["durability_because"].items())
    rows = [
        ["  broker", settings["broker"]],
        ["  durability", f"{settings['durability']}{f' because {because}' if because else ''}"],
        ["  acknowledged", settings["acknowledgement"]],
        *([["  security", settings["security"]]] if settings["security"] else []),
        *(["  fault", text] for text in settings["faults"]),
        ["  driver", f"{settings['driver']} (C library {settings['native_library']})"],
    ]
    for name in ("broker_settings", "client_settings"):
        if settings[name]:
            rows.append([f"  {name}", ", ".join(f"{k}={v}" for k, v in settings[name].items())])
    return aligned(rows)
