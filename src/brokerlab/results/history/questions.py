"""Which cells of many runs ask the same, and which of them were asked for."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from brokerlab.errors import UserError
from brokerlab.results.compare.measured import MeasuredCell, MeasuredRun
from brokerlab.results.compare.unlike import flat

# Names, settings and addresses are facts of a run: they may change from one run of a question to the next.
_FACTS = {
    "cell", "label", "parameters", "broker_settings", "client_settings", "keep_messages", "security", "endpoint",
    "endpoint_options",
}  # fmt: skip
_SETTINGS = ("broker_settings.", "client_settings.")


@dataclass(frozen=True)
class Asked:
    """One cell of one run, with what it asks."""

    run: MeasuredRun
    cell: MeasuredCell
    question: Mapping[str, str]  # field -> value

    def facts(self) -> dict[str, str]:
        """What `--where` can choose by."""
        plan, host = self.cell.plan, self.run.environment.host
        return {
            **self.question,
            "broker": plan.broker, "version": self.cell.facts.version or "", "durability": self.cell.durability,
            "nodes": str(plan.nodes), "driver": self.cell.facts.driver_path or "", "label": plan.label,
            "workload": self.run.plan.name, "tag": self.run.plan.tag or "", "host": host.name, "run": self.run.name,
            "brokerlab": self.run.environment.brokerlab,
        }  # fmt: skip


def asked(runs: Iterable[MeasuredRun]) -> list[Asked]:
    """Every cell of every run."""
    found = []
    for run in runs:
        of_run = [Asked(run, cell, question(cell)) for cell in run.cells]
        keys = [_key(one.question) for one in of_run]
        for one, key in zip(of_run, keys, strict=True):
            # Two cells of one run are never one question, whatever tells them apart.
            label = {"label": one.cell.plan.label} if keys.count(key) > 1 else {}
            found.append(Asked(run, one.cell, {**one.question, **label}))
    return found


def question(cell: MeasuredCell) -> dict[str, str]:
    """What a cell asks: the broker, its nodes and level, and the load. Versions, hosts and settings are facts, except settings
    that a sweep varies."""
    plan = cell.plan
    found = dict(flat("", plan.model_dump(mode="json", exclude=_FACTS)))
    found["durability"] = cell.durability
    found["security"] = plan.security.words() if plan.security is not None else ""
    found["endpoint"] = "given" if plan.endpoint else ""
    found |= {k: v for k, v in plan.parameters.items() if k.startswith(_SETTINGS)}
    return {k: v for k, v in found.items() if v}


def grouped(cells: Sequence[Asked]) -> list[list[Asked]]:
    """Those that ask the same together, each group in order of time."""
    groups: dict[str, list[Asked]] = defaultdict(list)
    for one in cells:
        groups[_key(one.question)].append(one)
    return [sorted(of, key=_when) for of in groups.values()]


def titles(groups: Sequence[Sequence[Asked]]) -> list[str]:
    """Of each group, a name that no other group has: label and level, and as much of the question as tells it apart."""
    short = [_short(of[-1]) for of in groups]
    found = []
    for i, of in enumerate(groups):
        alike = [groups[k][-1].question for k in range(len(groups)) if k != i and short[k] == short[i]]
        mine = of[-1].question
        names = {name for other in alike for name in {*mine, *other} if mine.get(name) != other.get(name)}
        told = [f"{name.rpartition('.')[2]} {mine.get(name, 'not set')}" for name in sorted(names)]
        found.append(", ".join([short[i], *told]))
    return found


def chosen(cells: Sequence[Asked], where: Mapping[str, Sequence[str]]) -> list[Asked]:
    """Those of which every named fact has one of its wanted values; * stands for anything. UserError for a fact that no cell
    has, and for a value that none has."""
    facts = [one.facts() for one in cells]
    for name, wanted in where.items():
        known = {value for of in facts if (value := of.get(name))}
        if not known:
            raise _unknown_fact(name, {n for of in facts for n in of})
        for pattern in wanted:
            if not any(fnmatchcase(value, pattern) for value in known):
                some = ", ".join(sorted(known)[:8])
                raise UserError(f"--where: no run has {name}={pattern}", hint=f"{name} is one of: {some}")
    return [
        one
        for one, of in zip(cells, facts, strict=True)
        if all(any(fnmatchcase(of.get(name, ""), p) for p in wanted) for name, wanted in where.items())
    ]


def _unknown_fact(name: str, known: set[str]) -> UserError:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "for example --where host=lab-1 --where tag=nightly"
    return UserError(f"--where: no cell has a fact called {name!r}", hint=hint)


def _key(question: Mapping[str, str]) -> str:
    return json.dumps(question, sort_keys=True)


def _when(one: Asked) -> tuple[float, str]:
    """Runs without a time of their own have one in their name, which sorts."""
    return (one.run.started_unix_s if one.run.started_unix_s is not None else 0.0, one.run.name)


def _short(one: Asked) -> str:
    plan = one.cell.plan
    name = plan.label if plan.broker in plan.label else f"{plan.broker} {plan.label}".strip()
    return f"{name} ({one.cell.durability})"
