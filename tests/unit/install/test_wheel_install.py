from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from brokerlab.errors import InstallError
from brokerlab.install.wheel import install_wheel, installed_wheel


def make_wheel(directory: Path, package: str = "pretend", version: str = "1.0") -> str:
    """A wheel that carries one file; returns its sha256."""
    about = f"{package}-{version}.dist-info"
    content = {
        f"{package}/server": b"the server",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in content.items()
    )
    path = directory / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
        archive.writestr(f"{about}/RECORD", f"{record}{about}/RECORD,,\n")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def sha256(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_USER", "1")  # as some people have it in their settings
    return make_wheel(shelf)


def lock(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pretend.lock"
    path.write_text(text)
    return path


def test_a_wheel_is_installed_once_into_the_cache(tmp_path: Path, sha256: str) -> None:
    lock_file = lock(tmp_path, f"pretend==1.0 --hash=sha256:{sha256}\n")
    assert installed_wheel("pretend", lock_file) is None
    shares: list[float] = []
    directory = install_wheel("pretend", lock_file, lambda _, share: shares.append(share))
    assert (directory / "pretend" / "server").read_bytes() == b"the server"
    assert shares == [0.0, 1.0]
    assert installed_wheel("pretend", lock_file) == directory
    (directory / "mark").touch()
    assert install_wheel("pretend", lock_file, lambda _, share: shares.append(share)) == directory
    assert (directory / "mark").exists()
    assert directory.is_relative_to(tmp_path / "home")


def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(tmp_path: Path, sha256: str) -> None:
    assert sha256
    lock_file = lock(tmp_path, f"pretend==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(InstallError, match="could not be installed") as raised:
        install_wheel("pretend", lock_file, lambda _what, _share: None)
    assert "lock file again" in (raised.value.hint or "")
    assert installed_wheel("pretend", lock_file) is None
    assert [p.name for p in (tmp_path / "home" / "wheels").iterdir() if p.is_dir()] == []


def test_a_package_that_cannot_be_found_says_to_check_the_network(tmp_path: Path, sha256: str) -> None:
    lock_file = lock(tmp_path, f"absent-server==1.0 --hash=sha256:{sha256}\n")
    with pytest.raises(InstallError) as raised:
        install_wheel("absent", lock_file, lambda _what, _share: None)
    assert "network" in (raised.value.hint or "")
