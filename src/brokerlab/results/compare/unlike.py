"""In what two cells are unlike, besides what they measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from brokerlab.model.environment import Environment
from brokerlab.results.compare.measured import MeasuredCell
from brokerlab.results.compare.sides import Side, Subject

# What a cell asks, besides what is compared by itself or only names it.
_NOT_ASKED = {"cell", "label", "durability", "parameters", "endpoint", "endpoint_options", "keep_messages"}
# Of settings read back: names and addresses that differ from one execution to the next and change nothing.
_DESTINATION = re.compile(r"brokerlab-[\w-]*-(d\d+)\b")
_ADDRESS = re.compile(r"\b(?:127\.0\.0\.1|localhost):\d+")
_PATH = re.compile(r"(?<![\w.])/[^\s,;:]+")
_ABSENT = "not set"


@dataclass(frozen=True)
class Unlike:
    """One thing that differs. `forbids`: no answer but "cannot tell" may be given, unless asked for all the same."""

    what: str
    base: str
    candidate: str
    forbids: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.base} → {self.candidate}"


def unlike(base: Subject, candidate: Subject, sides: tuple[Side, Side]) -> tuple[Unlike, ...]:
    """Durability and driver path, which forbid an answer, first. Where a side has several runs, its latest run is used, and
    what the runs of that side differ in among themselves is named as well."""
    a, b = base.members[-1], candidate.members[-1]
    between = unlike_cells((a, _environment(sides[0], a)), (b, _environment(sides[1], b)))
    within = (*_unlike_within(base, sides[0]), *_unlike_within(candidate, sides[1]))
    return tuple(sorted((*between, *within), key=lambda u: not u.forbids))


def _unlike_within(subject: Subject, of: Side) -> Iterator[Unlike]:
    """What differs between the latest run of a side and earlier ones: once for each thing, with the earliest run that
    differs in it."""
    latest, named = subject.members[-1], set[str]()
    for earlier in subject.members[:-1]:
        for found in unlike_cells((earlier, _environment(of, earlier)), (latest, _environment(of, latest))):
            if found.what not in named:
                named.add(found.what)
                what = f"{found.what} among the runs of {of.name}"
                yield Unlike(
                    what, f"{found.base} in {earlier.run}", f"{found.candidate} in {latest.run}", found.forbids
                )


def unlike_cells(
    base: tuple[MeasuredCell, Environment], candidate: tuple[MeasuredCell, Environment]
) -> tuple[Unlike, ...]:
    """Of two cells, each with the environment of its run."""
    (a, host_a), (b, host_b) = base, candidate
    asked = _asked(a), _asked(b)
    facts = [
        Unlike("durability", a.durability, b.durability, forbids=True),
        Unlike("driver path", _driver(a, b), _driver(b, a), forbids=True),
        Unlike(f"{a.plan.broker} version", a.facts.version or "unknown", b.facts.version or "unknown"),
        Unlike("host", _host(host_a), _host(host_b)),
        Unlike("kernel", host_a.host.kernel, host_b.host.kernel),
        Unlike("brokerlab", host_a.brokerlab, host_b.brokerlab),
        *_differing("", *asked),
    ]
    if a.plan.broker == b.plan.broker:
        facts += _differing("setting ", _settings(a), _settings(b))
    else:
        facts = [f for f in facts if not f.what.endswith(" version")]
    return tuple(f for f in facts if f.base != f.candidate)


def _environment(of: Side, cell: MeasuredCell) -> Environment:
    return next(run.environment for run in of.runs if run.name == cell.run)


def _host(environment: Environment) -> str:
    host = environment.host
    return f"{host.name}, {host.cpu_count} x {host.cpu_model}"


def _driver(cell: MeasuredCell, other: MeasuredCell) -> str:
    """The whole of it, as "native (the protocol in C)". Of two brokers the protocol differs anyway: its first word."""
    path = cell.facts.driver_path or "unknown"
    return path if cell.plan.broker == other.plan.broker else path.partition(" ")[0]


def _asked(cell: MeasuredCell) -> dict[str, str]:
    return dict(flat("", cell.plan.model_dump(mode="json", exclude=_NOT_ASKED)))


def flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """The leaves of a document as ("producers.schedule.rate_per_s", "1000.0"); what is null is left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(f"{prefix}.{key}" if prefix else str(key), inner)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from flat(f"{prefix}[{i}]", inner)
    elif value is not None:
        yield prefix, str(value)


def _settings(cell: MeasuredCell) -> dict[str, str]:
    return {
        _plain(f"{subject}.{name}", cell): _plain(value, cell)
        for subject, settings in cell.facts.effective_settings.items()
        for name, value in settings.items()
    }


def _plain(text: str, cell: MeasuredCell) -> str:
    """Without what differs between any two executions: names of destinations and runs, ports and paths."""
    text = _DESTINATION.sub(r"destination-\1", text.replace(cell.run, "run"))
    return _PATH.sub("PATH", _ADDRESS.sub("loopback", text))


def _differing(prefix: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Unlike]:
    names = [*a, *(n for n in b if n not in a)]
    return [Unlike(prefix + n, a.get(n, _ABSENT), b.get(n, _ABSENT)) for n in names if a.get(n) != b.get(n)]
