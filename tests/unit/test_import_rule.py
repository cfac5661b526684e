"""The layers of docs/architecture.md: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "brokerlab"

EVERY_LAYER_MAY_USE = {"model", "errors", "home", "interrupts", "lifeline", "native", "secrets", ""}
ALLOWED: dict[str, set[str]] = {
    "model": {"model", ""},  # "" is the version
    "errors": set(),
    "home": set(),
    "interrupts": set(),
    "lifeline": set(),
    "secrets": {"errors"},
    "native": {"native", "errors", "home", "model"},
    "install": {"install"},
    "machine": {"machine"},
    "processes": {"processes", "machine", "brokers.contract"},
    "workload": {"workload", "machine", "brokers.contract"},
    "agent": {"agent", "evidence", "brokers.contract", "brokers.registry"},
    "faults": {"faults", "brokers.contract"},
    "take_down": {"brokers.contract"},
    "clusters": {"brokers.contract", "take_down"},
    "warming": {"brokers", "environment", "load", "take_down"},
    "rounds": {"judge", "results"},
    "load": {"load", "evidence"},
    "probes": {"probes", "evidence", "machine", "brokers.contract", "brokers.registry"},
    "evidence": {"evidence"},
    "events": {"evidence"},
    "environment": set(),
    "monitor": {
        "monitor",
        "evidence",
        "probes",
        "results",
        "load.process",
        "workload",
        "processes",
        "install",
        "brokers.contract",
        "brokers.kit",
        "brokers.registry",
    },
    "judge": {"judge", "results"},
    "pipeline": {"pipeline", "evidence", "results", "judge"},
    "results": {"results", "evidence"},
    "lake": {"lake", "evidence", "results", "pipeline"},
    "report": {"report", "results", "judge"},
    "dashboard": {
        "dashboard",
        "background",
        "doctor",
        "evidence",
        "judge",
        "lab",
        "report",
        "results",
        "studies",
        "workload",
        "brokers.registry",
    },
    "studies": {"studies", "lab", "workload", "results", "judge", "lake", "pipeline", "report", "brokers.registry"},
    "doctor": {"doctor", "install", "brokers.registry"},
    "cli": {
        "cli",
        "dashboard",
        "lab",
        "background",
        "doctor",
        "lake",
        "results",
        "judge",
        "studies",
        "workload",
        "monitor",
        "brokers.contract",
        "brokers.registry",
    },
}
SEE_EVERYTHING = {"lab", "background", "runner", "execution", "watching"}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts), path


def imported(path: Path) -> Iterator[str]:
    """Names under brokerlab that a module imports, anywhere in it, without the leading `brokerlab.`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            names = [node.module]
        else:
            continue
        yield from (n.removeprefix("brokerlab").removeprefix(".") for n in names if n.split(".")[0] == "brokerlab")


def may(module: str, target: str) -> bool:
    package = module.split(".")[0]
    if package in SEE_EVERYTHING or (
        target.split(".")[0] in EVERY_LAYER_MAY_USE and package not in ("model", "errors", "home")
    ):
        return True
    if package == "brokers":
        parts = module.split(".")
        if len(parts) == 2 or parts[1] == "__init__":  # contract, registry
            return target.startswith(("brokers", "install"))
        own = f"brokers.{parts[1]}"
        others = {"faulty": "brokers.memory"}.get(parts[1], own)
        return target.startswith(("install", "processes", "brokers.kit", "brokers.contract", own, others))
    return any(target == ok or target.startswith(f"{ok}.") for ok in ALLOWED.get(package, set()))


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda v: v if isinstance(v, str) else "")
def test_module_imports_only_what_its_layer_may(module: str, path: Path) -> None:
    forbidden = [t for t in imported(path) if not may(module, t)]
    assert not forbidden, f"{module} imports {forbidden}"


def test_the_rule_itself_can_fail() -> None:
    assert not may("report.page", "pipeline.session")
    assert not may("brokers.kafka.driver", "brokers.nats.driver")
    assert not may("model.plan", "errors")
    assert not may("cli.commands.run", "runner")
    assert not may("cli.commands.analyze", "pipeline.analyze")
    assert may("cli.commands.run", "lab")
    assert may("runner", "load.agents")
