"""A declared front door: which driver a plan gets, what is refused before anything starts, and what is not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from brokerlab.brokers.contract import Capabilities, CellProblem, ComputedDurability, Progress
from brokerlab.brokers.kit.durability import level_of, other_level
from brokerlab.brokers.kit.front_door import FrontDoor, NativePath, Parts
from brokerlab.brokers.kit.recipes import Found, Recipe, Shipped
from brokerlab.errors import InstallError, MachineError
from brokerlab.model.plan import Durability, Security

FOLDER = "a_broker_folder"


@pytest.fixture(autouse=True)
def folder() -> Iterator[ModuleType]:
    """The modules of a broker folder: a driver in Python, one in C, and settings."""
    native = ModuleType(f"{FOLDER}.native")
    native.available = lambda: True  # type: ignore[attr-defined]
    native.producer = native.consumer = lambda *_: "in C"  # type: ignore[attr-defined]
    drivers = ModuleType(f"{FOLDER}.drivers")
    drivers.producer = drivers.consumer = lambda *_: "in Python"  # type: ignore[attr-defined]
    settings = ModuleType(f"{FOLDER}.settings")
    settings.problems = lambda _cell: []  # type: ignore[attr-defined]
    settings.planned_durability = lambda _cell: ComputedDurability(Durability.L4, {"sync": "no"})  # type: ignore[attr-defined]
    made = {module.__name__: module for module in (ModuleType(FOLDER), native, drivers, settings)}
    sys.modules.update(made)
    yield native
    for name in made:
        del sys.modules[name]


DOOR = FrontDoor(
    name="one",
    product="One",
    folder=FOLDER,
    capabilities=Capabilities(nodes=(1,), durability_levels={1: (Durability.L4,)}, acknowledgement="a promise"),
    recipe=Shipped(broker="one", version="1"),
    parts=Parts("drivers:cluster", "drivers:admin", "drivers:producer", "drivers:consumer", "drivers:probe"),
    native=NativePath("native"),
)


def plan(driver: str, *, tls: bool = False, settings: dict[str, str] | None = None) -> Any:
    endpoint = SimpleNamespace(security=Security(tls=True) if tls else None)
    return SimpleNamespace(driver=driver, endpoint=endpoint, client_settings=settings or {})


def cell(
    driver: str = "auto",
    level: Durability = Durability.L4,
    *,
    tls: bool = False,
    settings: dict[str, str] | None = None,
) -> Any:
    security = Security(tls=True) if tls else None
    return SimpleNamespace(driver=driver, durability=level, security=security, client_settings=settings or {})


def test_the_driver_in_c_is_taken_unless_python_is_asked_for() -> None:
    taken = {driver: DOOR.producer(plan(driver), 0) for driver in ("auto", "native", "python")}
    assert taken == {"auto": "in C", "native": "in C", "python": "in Python"}


def test_without_a_driver_in_c_auto_is_python_and_native_is_refused(folder: ModuleType) -> None:
    folder.available = lambda: False  # type: ignore[attr-defined]
    assert DOOR.consumer(plan("auto"), 0) == "in Python"
    with pytest.raises(MachineError, match="not available here"):
        DOOR.consumer(plan("native"), 0)
    (problem,) = DOOR.problems(cell("native"))
    assert problem.field == ("driver",)


def test_a_part_that_is_in_python_only_stays_so() -> None:
    half = replace(DOOR, native=NativePath("native", consumer=""))
    assert (half.producer(plan("auto"), 0), half.consumer(plan("auto"), 0)) == ("in C", "in Python")


def test_a_driver_in_c_that_speaks_no_tls_is_not_taken_for_it() -> None:
    plain = replace(DOOR, native=NativePath("native", speaks_tls=False))
    assert plain.producer(plan("auto", tls=True), 0) == "in Python"
    assert "no TLS" in plain.problems(cell("native", tls=True))[0].message
    assert plain.problems(cell("native")) == []


def test_a_driver_in_c_is_not_taken_for_what_it_says_it_does_not_do(folder: ModuleType) -> None:
    folder.limit = lambda _security, settings: settings.get("not done")  # type: ignore[attr-defined]
    limited = replace(DOOR, native=NativePath("native", limits="limit"))
    more = {"not done": "compression"}
    assert [limited.producer(plan("auto", settings=s), 0) for s in ({}, more)] == ["in C", "in Python"]
    (problem,) = limited.problems(cell("native", settings=more))
    assert str(problem) == "driver: the native path has no compression; use auto or python (got 'native')"
    with pytest.raises(MachineError, match="no compression"):
        limited.producer(plan("native", settings=more), 0)


def test_a_broker_without_a_driver_in_c_refuses_it() -> None:
    (problem,) = replace(DOOR, native=None).problems(cell("native"))
    assert str(problem) == "driver: One has no native path; use auto or python (got 'native')"


def test_settings_that_lead_to_another_level_are_told_when_nothing_else_is_wrong(folder: ModuleType) -> None:
    assert [str(p) for p in DOOR.problems(cell(level=Durability.L3))] == ["durability: sync no give L4, not L3"]
    sys.modules[f"{FOLDER}.settings"].problems = lambda _cell: [CellProblem(("broker_settings", "x"), "no")]  # type: ignore[attr-defined]
    assert [p.field for p in DOOR.problems(cell(level=Durability.L3))] == [("broker_settings", "x")]
    assert folder is sys.modules[f"{FOLDER}.native"]


def test_parts_may_be_named_by_convention() -> None:
    parts = Parts.called("Nice")
    assert (parts.cluster, parts.probe) == ("cluster:NiceCluster", "probe:NiceProbe")


@pytest.mark.parametrize(
    ("replicated", "fsynced", "level"),
    [(True, True, "L1"), (True, False, "L2"), (False, True, "L3"), (False, False, "L4")],
)
def test_the_level_follows_from_two_facts(replicated: bool, fsynced: bool, level: str) -> None:
    assert level_of(replicated=replicated, fsynced=fsynced) == level
    assert other_level(cell(level=Durability(level)), ComputedDurability(Durability(level), {})) == []


@dataclass(frozen=True)
class OnDisk(Recipe):
    """Installed where its file is there; `fetch` writes it, or nothing."""

    file: Path
    works: bool = True

    def found(self) -> Found | None:
        return Found(self.file, "2", "from a test", self.file) if self.file.exists() else None

    def fetch(self, progress: Progress) -> None:
        progress("all", 1.0)
        if self.works:
            self.file.touch()


def test_a_recipe_says_what_to_do_until_it_is_installed(tmp_path: Path) -> None:
    recipe = OnDisk(broker="one", version="1", file=tmp_path / "server")
    before = recipe.installation()
    assert (before.installed, before.runs_here, before.version) == (False, True, "1")
    assert before.reason == "not installed: brokerlab install one"
    with pytest.raises(InstallError, match="one cannot start: not installed"):
        recipe.programs()
    after = recipe.install(lambda _what, _share: None)
    assert (after.installed, after.version, after.location) == (True, "2", recipe.file)
    assert recipe.programs() == recipe.file


def test_an_installation_that_brings_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="still not complete"):
        OnDisk(broker="one", version="1", file=tmp_path / "server", works=False).install(lambda _what, _share: None)
