"""Servers that need what several recipes bring."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from brokerlab.brokers.contract import Progress
from brokerlab.brokers.kit.recipes import Found, ServerRecipe
from brokerlab.brokers.kit.together import Together


@dataclass(frozen=True)
class Part(ServerRecipe):
    """Is here when it was fetched into `directory`."""

    directory: Path
    problem: str | None = None

    def fetched(self) -> Found | None:
        program = self.directory / self.program
        return Found(program, self.version, f"{self.program} from here", program) if program.exists() else None

    def impossible(self) -> str | None:
        return self.problem

    def fetch_ours(self, progress: Progress) -> None:
        progress(self.program, 0.5)
        (self.directory / self.program).touch()
        progress(self.program, 1.0)


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Together:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROKERLAB_PREFER_PATH", raising=False)
    front, store = (Part("lab", "1", "lab", name, tmp_path) for name in ("front", "store"))
    return Together("lab", "front 1 on store 1", "lab", "labd", (front, store), own_product="Lab")


def test_it_is_here_when_every_part_is(recipe: Together, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    assert not recipe.installation().installed
    recipe.parts[0].fetch_ours(lambda _what, _share: None)
    assert not recipe.installation().installed
    made = recipe.install(lambda what, share: told.append((what, share)))
    assert (made.version, made.reason) == ("front 1 on store 1", "front from here; store from here")
    assert recipe.programs() == (tmp_path / "front", tmp_path / "store")
    assert told == [("front", 0.25), ("front", 0.5), ("store", 0.75), ("store", 1.0)]


def test_one_part_that_cannot_be_had_is_the_reason(recipe: Together) -> None:
    first, second = recipe.parts
    without = replace(recipe, parts=(first, replace(second, problem="no compiler")))
    assert (without.installation().runs_here, without.installation().reason) == (False, "no compiler")


def test_a_server_of_the_users_stands_for_all_parts_and_is_named(
    recipe: Together, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "labd"
    own.write_text("#!/bin/sh\necho labd 2.5.1\n")
    own.chmod(0o755)
    monkeypatch.setenv("BROKERLAB_PREFER_PATH", "lab")
    assert recipe.installation().version == "Lab 2.5.1"
    assert recipe.programs() == own
