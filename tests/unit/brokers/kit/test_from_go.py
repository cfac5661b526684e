"""A server built by Go: with a stand-in for Go on PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.kit.recipes import FromGo
from brokerlab.errors import InstallError
from brokerlab.install.cache import silent

GO = '#!/bin/sh\nwhile test "$1" != -o; do shift; done\necho built > "$2"\n'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on PATH."""
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


@pytest.fixture
def recipe(tmp_path: Path) -> FromGo:
    lock = tmp_path / "lab.mod"
    lock.write_text("module m\n")
    lock.with_suffix(".sum").write_text("m v1 h1:abc=\n")
    return FromGo("lab", "1.0", "lab", "lab-server", "example.invalid/lab-server", lock)


def put_go(programs: Path) -> None:
    (programs / "go").write_text(GO)
    (programs / "go").chmod(0o755)


def test_it_is_built_where_go_is_and_needs_go_no_more(recipe: FromGo, programs: Path) -> None:
    put_go(programs)
    before = recipe.installation()
    assert (before.installed, before.runs_here) == (False, True)
    assert recipe.install(silent).installed
    (programs / "go").unlink()
    assert recipe.install(silent).installed
    built: Path = recipe.programs()
    assert (built.name, built.read_text()) == ("lab-server", "built\n")


def test_without_go_it_does_not_run_here_and_says_why(recipe: FromGo, programs: Path) -> None:
    assert list(programs.iterdir()) == []
    installation = recipe.installation()
    assert not installation.runs_here
    assert "Go" in installation.reason
    with pytest.raises(InstallError, match="Go"):
        recipe.install(silent)


def test_a_server_of_the_users_is_preferred_where_asked(
    recipe: FromGo, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = programs / "lab-server"
    own.write_text("#!/bin/sh\necho lab-server version 2.5.1\n")
    own.chmod(0o755)
    assert recipe.found() is None
    monkeypatch.setenv("BROKERLAB_PREFER_PATH", "lab")
    installation = recipe.installation()
    assert (installation.installed, installation.version) == (True, "2.5.1")
