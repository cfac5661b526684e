"""The faults a cell asks for, read from `broker_settings`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem
from brokerlab.brokers.kit.setting_checks import Check, setting_problems
from brokerlab.brokers.memory import settings as memory_settings
from brokerlab.model.plan import CellPlan
from brokerlab.model.quantities import parse_duration_ns, parse_number

SHARES = ("loss", "duplication", "reordering", "corruption", "reject", "drop_ack")
NAMES = ("seed", "delay", "stall", *SHARES)
_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*")
_STALL = re.compile(r"\s*at\s+(\S+)\s+for\s+(\S+)\s*")
_ARGUMENTS = {"constant": "(duration)", "uniform": "(duration, duration)", "lognormal": "(median duration, sigma)"}


@dataclass(frozen=True)
class Delay:
    """constant: first_ns. uniform: first_ns to second (ns). lognormal: median first_ns, sigma `second`."""

    kind: str
    first_ns: float
    second: float = 0.0


@dataclass(frozen=True)
class Stall:
    """Nothing is processed for `for_ns`, beginning `at_ns` after the first message was published."""

    at_ns: int
    for_ns: int


@dataclass(frozen=True)
class Faults:
    """What to do to messages. Each share is the probability that a message suffers that fault; none suffers two."""

    seed: int = 0
    delay: Delay | None = None
    stall: Stall | None = None
    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    corruption: float = 0.0
    reject: float = 0.0
    drop_ack: float = 0.0

    def any_share(self) -> bool:
        return any(getattr(self, name) > 0 for name in SHARES)


def parse_delay(text: str) -> Delay:
    """`constant(5ms)`, `uniform(1ms, 9ms)` or `lognormal(2ms, 0.5)`."""
    found = _CALL.fullmatch(text)
    if found is None or found[1] not in _ARGUMENTS:
        raise ValueError("must be constant(5ms), uniform(1ms, 9ms) or lognormal(2ms, 0.5)")
    kind, arguments = found[1], found[2].split(",")
    if len(arguments) != (1 if kind == "constant" else 2):
        raise ValueError(f"{kind} takes {_ARGUMENTS[kind]}")
    first_ns = parse_duration_ns(arguments[0].strip())
    if kind == "constant":
        return Delay(kind, first_ns)
    if kind == "uniform":
        second_ns = parse_duration_ns(arguments[1].strip())
        if second_ns < first_ns:
            raise ValueError("uniform: the second duration must not be below the first")
        return Delay(kind, first_ns, second_ns)
    sigma = parse_number(arguments[1].strip())
    if not 0 < sigma <= 3:
        raise ValueError("lognormal: sigma must be above 0 and at most 3")
    return Delay(kind, first_ns, sigma)


def parse_stall(text: str) -> Stall:
    """`at 3s for 1s`."""
    found = _STALL.fullmatch(text)
    if found is None:
        raise ValueError("must be written as: at 3s for 1s")
    return Stall(int(parse_duration_ns(found[1])), int(parse_duration_ns(found[2])))


def _share(text: str) -> float:
    value = parse_number(text)
    if not 0 <= value <= 1:
        raise ValueError("must be between 0 and 1")
    return value


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise ValueError("must be a whole number below 2^64")
    return int(text)


_PARSERS = {"seed": _seed, "delay": parse_delay, "stall": parse_stall} | dict.fromkeys(SHARES, _share)


def _check(parse: Callable[[str], object]) -> Check:
    def check(text: str) -> str | None:
        try:
            parse(text)
        except ValueError as e:
            return str(e)
        return None

    return check


KNOWN = {name: _check(parse) for name, parse in _PARSERS.items()} | memory_settings.SIZES


def parse_faults(settings: Mapping[str, str]) -> Faults:
    """The faults; names that are not ours are ignored here. Raises ValueError."""
    values = {name: _PARSERS[name](settings[name]) for name in NAMES if name in settings}
    faults = Faults(**values)  # type: ignore[arg-type]
    total = sum(getattr(faults, name) for name in SHARES)
    if total > 1:
        raise ValueError(f"{' + '.join(SHARES)} must not exceed 1 (it is {total:g})")
    return faults


def problems(cell: CellPlan) -> list[CellProblem]:
    found = setting_problems(cell, KNOWN, {}) or memory_settings.limit_problems(cell.broker_settings)
    if found:
        return found
    try:
        parse_faults(cell.broker_settings)
    except ValueError as e:
        return [CellProblem(("broker_settings",), str(e))]
    return []
