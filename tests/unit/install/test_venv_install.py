from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_wheel_install import make_wheel

from brokerlab.errors import InstallError
from brokerlab.install.venv import install_venv, installed_venv, requirement_lines

LOCK = """# a comment
pretend==1.0 \\
    --hash=sha256:{pretend}
setuptools==80.0 \\
    --hash=sha256:{setuptools}
"""


@pytest.fixture
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two wheels that are not what they are called, on a shelf instead of an index."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    path = tmp_path / "pretend.lock"
    hashes = {"pretend": make_wheel(shelf), "setuptools": make_wheel(shelf, "setuptools", "80.0")}
    path.write_text(LOCK.format(**hashes))
    return path


def test_an_environment_is_made_once_works_after_its_move_and_sees_nothing_of_ours(lock_file: Path) -> None:
    assert installed_venv("pretend", lock_file) is None
    finished: list[Path] = []
    directory = install_venv("pretend", lock_file, lambda _w, _s: None, finish=finished.append)
    assert installed_venv("pretend", lock_file) == directory
    assert len(finished) == 1
    assert install_venv("pretend", lock_file, lambda _w, _s: None, finish=finished.append) == directory
    assert len(finished) == 1
    asked = "import importlib.util as u; print(*(u.find_spec(n) is not None for n in ('pretend', 'brokerlab')))"
    said = subprocess.run([directory / "bin" / "python", "-c", asked], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["True", "False"]


def test_what_fails_leaves_nothing(lock_file: Path) -> None:
    def fail(_: Path) -> None:
        raise InstallError("no database")

    with pytest.raises(InstallError, match="no database"):
        install_venv("pretend", lock_file, lambda _w, _s: None, finish=fail)
    assert installed_venv("pretend", lock_file) is None
    text = lock_file.read_text().splitlines()
    lock_file.write_text("\n".join([*text[:2], f"    --hash=sha256:{'0' * 64}", *text[3:]]) + "\n")
    with pytest.raises(InstallError, match="could not be installed"):
        install_venv("pretend", lock_file, lambda _w, _s: None)
    assert installed_venv("pretend", lock_file) is None


def test_the_lines_of_one_package_are_its_pin_and_its_hashes() -> None:
    lock = "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\nb==2 \\\n    --hash=sha256:3\n"
    assert requirement_lines(lock, "a", "x") == "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n"
    assert requirement_lines(lock, "b", "x") == "b==2 \\\n    --hash=sha256:3\n"
    with pytest.raises(InstallError, match="does not name c"):
        requirement_lines(lock, "c", "x")
