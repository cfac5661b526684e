"""Servers built from source: what Go is asked for, and what is kept. Go itself is a script here."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.errors import InstallError
from brokerlab.install.cache import silent
from brokerlab.install.go import build_program, built_program, go_problem

PACKAGE = "example.org/lab/cmd/served"
BUILD = """#!/bin/sh
cat go.mod go.sum > "$5" && echo "$@" >> "$5" && echo "$CGO_ENABLED $GOFLAGS" >> "$5"
"""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    (tmp_path / "served.sum").write_text("the hashes\n")
    path = tmp_path / "served.mod"
    path.write_text("the modules\n")
    return path


def go(tmp_path: Path, script: str) -> None:
    program = tmp_path / "bin" / "go"
    program.write_text(script)
    program.chmod(0o755)


def test_a_program_is_built_once_from_what_the_lock_names(lock: Path, tmp_path: Path) -> None:
    assert built_program(PACKAGE, lock) is None
    go(tmp_path, BUILD)
    program = build_program(PACKAGE, lock, silent)
    text = program.read_text()
    assert text.startswith("the modules\nthe hashes\n")
    assert "build -mod=readonly" in text
    assert text.endswith("0 -buildvcs=false\n")
    assert built_program(PACKAGE, lock) == program
    go(tmp_path, "#!/bin/sh\nexit 1\n")
    assert build_program(PACKAGE, lock, silent) == program
    assert [p.name for p in program.parent.iterdir()] == ["served"]


def test_another_lock_is_another_program(lock: Path, tmp_path: Path) -> None:
    go(tmp_path, BUILD)
    before = build_program(PACKAGE, lock, silent)
    lock.with_suffix(".sum").write_text("other hashes\n")
    assert built_program(PACKAGE, lock) is None
    assert build_program(PACKAGE, lock, silent) != before


def test_what_go_says_is_the_error_and_nothing_is_left(lock: Path, tmp_path: Path) -> None:
    go(tmp_path, "#!/bin/sh\necho checksum mismatch >&2\nexit 1\n")
    with pytest.raises(InstallError, match="checksum mismatch"):
        build_program(PACKAGE, lock, silent)
    assert built_program(PACKAGE, lock) is None


def test_a_machine_without_go_is_told_so(lock: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert go_problem() == "needs Go to build it from source"
    with pytest.raises(InstallError, match="served needs Go"):
        build_program(PACKAGE, lock, silent)
