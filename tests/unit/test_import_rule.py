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


def imported(text: str) -> Iterator[str]:
    """Modules under brokerlab that a module of this text imports, anywhere in it, without the leading `brokerlab.`; empty
    for what brokerlab itself offers. Relative imports are not resolved: no layer may use them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (_below(a.name) for a in node.names if _is_ours(a.name))
        elif isinstance(node, ast.ImportFrom) and node.level > 0:
            yield f"relative {'.' * node.level}{node.module or ''}"
        elif isinstance(node, ast.ImportFrom) and node.module is not None and _is_ours(node.module):
            within = _below(node.module)
            names = [f"{within}.{a.name}".removeprefix(".") for a in node.names]
            yield from (name if _is_module(name) else within for name in names)


def _is_ours(name: str) -> bool:
    return name.split(".")[0] == "brokerlab"


def _below(name: str) -> str:
    return name.removeprefix("brokerlab").removeprefix(".")


def _is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def may(module: str, target: str) -> bool:
    package = module.split(".")[0]
    if package in SEE_EVERYTHING or (
        target.split(".")[0] in EVERY_LAYER_MAY_USE and package not in ("model", "errors", "home")
    ):
        return True
    if package != "brokers":
        return _is_within(target, ALLOWED.get(package, set()))
    parts = module.split(".")
    if len(parts) == 2 or parts[1] == "__init__":  # contract, registry
        return _is_within(target, {"brokers", "install"})
    own = f"brokers.{parts[1]}"
    others = {"faulty": "brokers.memory"}.get(parts[1], own)
    return _is_within(target, {"install", "processes", "brokers.kit", "brokers.contract", own, others})


def _is_within(target: str, allowed: set[str]) -> bool:
    return any(target == ok or target.startswith(f"{ok}.") for ok in allowed)


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda v: v if isinstance(v, str) else "")
def test_module_imports_only_what_its_layer_may(module: str, path: Path) -> None:
    forbidden = [t for t in imported(path.read_text()) if not may(module, t)]
    assert not forbidden, f"{module} imports {forbidden}"


def test_the_rule_itself_can_fail() -> None:
    assert not may("report.page", "pipeline.session")
    assert not may("brokers.kafka.driver", "brokers.nats.driver")
    assert not may("model.plan", "errors")
    assert not may("cli.commands.run", "runner")
    assert not may("cli.commands.analyze", "pipeline.analyze")
    assert not may("brokers.nats.driver", "brokers.nats_streaming.driver")
    assert may("cli.commands.run", "lab")
    assert may("runner", "load.agents")


def test_a_module_is_found_however_it_is_imported() -> None:
    assert list(imported("import brokerlab.runner")) == ["runner"]
    assert list(imported("from brokerlab import runner, lab as of")) == ["runner", "lab"]
    assert list(imported("from brokerlab.brokers import registry")) == ["brokers.registry"]
    assert list(imported("from brokerlab.errors import UserError")) == ["errors"]
    assert list(imported("from brokerlab import __version__")) == [""]
    assert list(imported("import os, brokerlabs\nfrom pathlib import Path")) == []
    relative = list(imported("def later():\n    from ..runner import x\n    from . import y"))
    assert not any(may("cli.commands.run", name) for name in relative)
    assert len(relative) == 2
