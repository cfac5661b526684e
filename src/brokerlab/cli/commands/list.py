"""brokerlab list brokers|workloads|runs"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from brokerlab.cli import options
from brokerlab.cli.text import aligned, print_json


@click.command()
@click.argument("what", type=click.Choice(["brokers", "workloads", "runs"]))
@options.runs
@options.as_json
def command(what: str, runs: Path | None, as_json: bool) -> int:
    """List brokers, shipped workloads, or runs (newest last, with verdict)."""
    if what == "brokers":
        rows, lines = brokers(), broker_lines
    elif what == "workloads":
        rows, lines = workloads(), workload_lines
    else:
        rows, lines = run_rows(options.runs_root(runs)), run_lines
    if as_json:
        print_json(rows)
        return 0
    for line in lines(rows):
        click.echo(line)
    return 0


def brokers() -> list[dict[str, Any]]:
    """Every broker of the registry: what it can do and whether it can do it here."""
    from brokerlab import lab

    rows = []
    for front, here in lab.brokers():
        can = dataclasses.asdict(front.capabilities)
        levels = {str(n): [str(x) for x in levels] for n, levels in can.pop("durability_levels").items()}
        rows.append(
            {
                "name": front.name,
                "product": front.product,
                "version": here.version or front.version,
                "kind": front.kind,
                "nodes": list(can.pop("nodes")),
                "durability_levels": levels,
                "capabilities": can,
                "installed": here.installed,
                "runs_here": here.runs_here,
                "reason": here.reason,
            }
        )
    return rows


def broker_lines(rows: list[dict[str, Any]]) -> list[str]:
    table = [["name", "product", "version", "nodes", "durability", "installed", "runs here", ""]]
    for r in rows:
        levels = sorted({level for levels in r["durability_levels"].values() for level in levels})
        table.append(
            [
                r["name"], r["product"], r["version"], ", ".join(map(str, r["nodes"])) or "endpoint", " ".join(levels),
                "yes" if r["installed"] else "no", "yes" if r["runs_here"] else "no", r["reason"],
            ]
        )  # fmt: skip
    return aligned(table)


def workloads() -> list[dict[str, Any]]:
    from brokerlab import lab

    rows = []
    for name, plan in lab.workloads().items():
        rows.append(
            {
                "name": name,
                "question": plan.question,
                "brokers": list(dict.fromkeys(c.broker for c in plan.cells)),
                "cells": len(plan.cells),
                "executions": len(plan.order),
            }
        )
    return rows


def workload_lines(rows: list[dict[str, Any]]) -> list[str]:
    table = [[r["name"], ",".join(r["brokers"]), f"{r['executions']} executions", r["question"]] for r in rows]
    return [*aligned(table), "", "brokerlab run NAME runs one; brokerlab plan NAME shows what it would do"]


def run_rows(root: Path) -> list[dict[str, Any]]:
    """Runs under `root`, oldest first; one whose files cannot be read is listed with the reason."""
    from brokerlab.errors import DamagedFileError
    from brokerlab.results.directory import run_directories
    from brokerlab.results.run_state import run_state

    rows: list[dict[str, Any]] = []
    for run in run_directories(root):
        row: dict[str, Any] = {"run": run.name, "path": str(run.path)}
        try:
            now = run_state(run)
        except (DamagedFileError, OSError) as e:
            rows.append({**row, "state": "unreadable", "verdict": None, "headline": str(e).splitlines()[0]})
            continue
        rows.append(
            {
                **row,
                "tag": now.plan.tag,
                "state": now.word,
                "finished": now.finished,
                "planned": len(now.executions),
                "verdict": now.verdict.verdict if now.verdict else None,
                "headline": now.verdict.headline if now.verdict else "",
            }
        )
    return rows


def run_lines(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["no runs yet: brokerlab demo makes one"]
    table = []
    for r in rows:
        done = f" ({r['finished']}/{r['planned']})" if r["state"] not in ("complete", "unreadable") else ""
        table.append([r["run"], f"{r['state']}{done}", r["verdict"] or "not analyzed", r["headline"]])
    return aligned(table)
