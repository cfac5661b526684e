"""A broker's front door, declared: its facts, and where in its folder the parts are that it opens."""

from __future__ import annotations

from collections.abc import Mapping
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
    lag: str = (
        ""  # endpoint, nodes, name: a BrokerProbe of destinations and groups; "" where the broker tells nothing of them
    )
    # Where the probe reads figures of a broker that the user runs: kind of NodeInfo.urls -> an option of `monitor` that says
    # so, and what it is otherwise: may have {address} and {host}. Without both the kind is left out.
    figures_at: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def called(cls, prefix: str, **others: Any) -> Parts:
        """A class for each, `cluster:<prefix>Cluster` and so on. `others` are what is called otherwise, or the module of
        such a class where that is, and fields that have a default."""
        given = {name: others.get(name, name) for name in ("cluster", "admin", "producer", "consumer", "probe")}
        classes = {name: f"{at}:{prefix}{name.capitalize()}" for name, at in given.items() if ":" not in at}
        return cls(**{**others, **given, **classes})


def _figure_urls(
    figures_at: Mapping[str, tuple[str, str]], address: str, options: Mapping[str, str], number: int
) -> dict[str, str]:
    """Of one node. An option with commas has one address for each node."""
    urls: dict[str, str] = {}
    for kind, (option, otherwise) in figures_at.items():
        given = [one.strip() for one in options.get(option, "").split(",") if one.strip()]
        if given:
            urls[kind] = given[min(number, len(given) - 1)]
        elif otherwise:
            urls[kind] = otherwise.format(address=address, host=address.rpartition(":")[0])
    return urls


@dataclass(frozen=True)
class NativePath:
    """A driver in C besides the one in Python: a module with `available()`, of the folder or by its whole path, and names
    in it as in Parts; "" where that part is in Python only."""

    module: str
    producer: str = "producer"
    consumer: str = "consumer"
    speaks_tls: bool = True
    limits: str = ""  # a function of security and client settings there: what it does not do, None where it does all


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
    stand_in: bool = False  # see brokers.contract.Broker
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

    def lag_probe(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> BrokerProbe | None:
        """See brokers.contract.WatchedByEndpoint, and kit.lag."""
        if not self.parts.lag:
            return None
        made: BrokerProbe = self._part(self.parts.lag)(endpoint, nodes, name)
        return made

    @property
    def figure_options(self) -> dict[str, str]:
        """Options of `monitor` that say where figures are read, and what each is."""
        told = self.parts.figures_at.items()
        return {option: f"where its figures are read ({kind})" for kind, (option, _) in told if option}

    def nodes_at(self, addresses: tuple[str, ...], options: Mapping[str, str], name: str) -> tuple[NodeInfo, ...]:
        """Nodes of a broker that the user runs, as far as addresses and options say where their figures are read."""
        return tuple(
            NodeInfo(f"{name}-{number}", 0, _figure_urls(self.parts.figures_at, address, options, number - 1))
            for number, address in enumerate(addresses, 1)
        )

    def _part(self, name: str) -> Any:
        module, _, attribute = name.partition(":")
        return getattr(import_module(self._path(module)), attribute)

    def _path(self, module: str) -> str:
        return module if module.startswith("brokerlab.") else f"{self.folder}.{module}"

    def _driver_problems(self, cell: CellPlan) -> list[CellProblem]:
        """Why `driver: native` cannot be had."""
        if cell.driver != "native":
            return []
        why = self._without_native(cell.security, cell.client_settings)
        return [] if why is None else [CellProblem(("driver",), f"{why}; use auto or python", cell.driver)]

    def _without_native(self, security: Security | None, client_settings: Mapping[str, str]) -> str | None:
        """Why there is no native path here; None where there is one."""
        if self.native is None:
            return f"{self.product} has no native path"
        if security is not None and security.tls and not self.native.speaks_tls:
            return "the native path speaks no TLS"
        module = self._native_module()
        if module is None:
            return "the native path is not available here (no compiler?)"
        if not self.native.limits:
            return None
        limit: str | None = getattr(module, self.native.limits)(security, client_settings)
        return None if limit is None else f"the native path has no {limit}"

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
        why = self._without_native(plan.endpoint.security, plan.client_settings)
        if why is not None and plan.driver == "native":
            raise MachineError(f"{self.name}: {why}", hint="use driver: auto, or install cc")
        return self._native_module() if why is None and plan.driver != "python" else None
