"""A broker's front door, declared: its facts, and where in its folder the parts are that it opens."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from brokerlab.brokers.contract import (
    Admin,
    BrokerProbe,
    Capabilities,
    CellProblem,
    Cluster,
    ComputedDurability,
    Consumer,
    Installation,
    NodeInfo,
    Producer,
    Progress,
    TestHints,
)
from brokerlab.brokers.kit.durability import other_level
from brokerlab.brokers.kit.recipes import Recipe
from brokerlab.errors import MachineError
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint, Security


@dataclass(frozen=True)
class Parts:
    """What a folder offers, each as "module:NAME", a module of the folder or a whole path. Classes or functions; what
    they are called with stands behind them."""

    cluster: str  # cell, the recipe's programs, directory, logs; "" where nothing is started here
    admin: str  # endpoint, cell
    producer: str  # plan, number
    consumer: str  # plan, number
    probe: str  # endpoint, nodes
    problems: str = "settings:problems"  # cell; levels are compared here, so it need not
    planned_durability: str = "settings:planned_durability"  # cell, where it has no problems

    @classmethod
    def called(cls, prefix: str) -> Parts:
        """A class in each module, `cluster:<prefix>Cluster` and so on."""
        names = ("cluster", "admin", "producer", "consumer", "probe")
        return cls(*(f"{name}:{prefix}{name.capitalize()}" for name in names))


@dataclass(frozen=True)
class NativePath:
    """A driver in C besides the one in Python: a module with `available()`, of the folder or by its whole path, and names
    in it as in Parts; "" where that part is in Python only."""

    module: str
    producer: str = "producer"
    consumer: str = "consumer"
    speaks_tls: bool = True


@dataclass(frozen=True)
class FrontDoor:
    """See brokers.contract.Broker and PlansDurability. Parts are imported when they are needed, so that listing brokers
    stays fast."""

    name: str
    product: str
    folder: str  # the package: __package__ of the module that declares it
    capabilities: Capabilities
    recipe: Recipe
    parts: Parts
    native: NativePath | None = None
    kind: Literal["server", "calibration"] = "server"
    runs: str = ""  # what is started, in a few words, for the table in README.md
    test_hints: TestHints = field(default_factory=TestHints)

    @property
    def version(self) -> str:
        return self.recipe.version

    @property
    def preferred_as(self) -> str | None:
        return self.recipe.preferred_name()

    def installation(self) -> Installation:
        return self.recipe.installation()

    def install(self, progress: Progress) -> Installation:
        return self.recipe.install(progress)

    def problems(self, cell: CellPlan) -> list[CellProblem]:
        found: list[CellProblem] = [*self._part(self.parts.problems)(cell), *self._driver_problems(cell)]
        return found or other_level(cell, self.planned_durability(cell))

    def planned_durability(self, cell: CellPlan) -> ComputedDurability:
        planned: ComputedDurability = self._part(self.parts.planned_durability)(cell)
        return planned

    def cluster(self, cell: CellPlan, directory: Path, logs: Path) -> Cluster:
        programs = self.recipe.programs()
        made: Cluster = self._part(self.parts.cluster)(cell, programs, directory, logs)
        return made

    def admin(self, endpoint: Endpoint, cell: CellPlan) -> Admin:
        made: Admin = self._part(self.parts.admin)(endpoint, cell)
        return made

    def producer(self, plan: AgentPlan, number: int) -> Producer:
        made: Producer = self.driver(plan, "producer")(plan, number)
        return made

    def consumer(self, plan: AgentPlan, number: int) -> Consumer:
        made: Consumer = self.driver(plan, "consumer")(plan, number)
        return made

    def probe(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...]) -> BrokerProbe | None:
        made: BrokerProbe = self._part(self.parts.probe)(endpoint, nodes)
        return made

    def _part(self, name: str) -> Any:
        module, _, attribute = name.partition(":")
        return getattr(import_module(self._path(module)), attribute)

    def _path(self, module: str) -> str:
        return module if module.startswith("brokerlab.") else f"{self.folder}.{module}"

    def _driver_problems(self, cell: CellPlan) -> list[CellProblem]:
        """Why `driver: native` cannot be had."""
        if cell.driver != "native":
            return []
        why = self._without_native(cell.security)
        return [] if why is None else [CellProblem(("driver",), f"{why}; use auto or python", cell.driver)]

    def _without_native(self, security: Security | None) -> str | None:
        """Why there is no native path here; None where there is one."""
        if self.native is None:
            return f"{self.product} has no native path"
        if security is not None and security.tls and not self.native.speaks_tls:
            return "the native path speaks no TLS"
        return None if self._native_module() is not None else "the native path is not available here (no compiler?)"

    def _native_module(self) -> ModuleType | None:
        assert self.native is not None
        try:
            module = import_module(self._path(self.native.module))
        except ImportError:
            return None
        return module if module.available() else None

    def driver(self, plan: AgentPlan, role: str) -> Any:
        """What makes a producer or a consumer for this plan, whichever `role` says."""
        module, name = self._native_for(plan), getattr(self.native, role, "")
        return getattr(module, name) if module is not None and name else self._part(getattr(self.parts, role))

    def _native_for(self, plan: AgentPlan) -> ModuleType | None:
        """The native driver if the plan allows it and it can be had; None for the Python one."""
        why = self._without_native(plan.endpoint.security)
        if why is not None and plan.driver == "native":
            raise MachineError(f"{self.name}: {why}", hint="use driver: auto, or install cc")
        return self._native_module() if why is None and plan.driver != "python" else None
