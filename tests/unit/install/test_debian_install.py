"""Installing from a tiny signed repository on this disk, whose server is a copy of a program of this system."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from brokerlab.errors import InstallError
from brokerlab.install import debian_sources
from brokerlab.install.debian import DebianRelease, DebianRoot, install_debian, installed_debian
from brokerlab.install.debian_apt import debs_directory
from brokerlab.install.debian_unpack import read_elf, unpack_in_python

NEEDED = [p for p in ("apt-get", "dpkg-deb", "gpg", "gpgconf") if shutil.which(p) is None]
LOADER = next(iter(Path("/lib64").glob("ld-linux-*.so.*")), None)
pytestmark = pytest.mark.skipif(bool(NEEDED) or LOADER is None, reason=f"makes Debian packages: needs {NEEDED}")


def run(*command: str | Path) -> str:
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


@dataclass
class Repository:
    """Suites of packages in a directory, signed with a key made for the test."""

    directory: Path
    gnupg: Path
    architecture: str

    def add(self, suite: str, name: str, version: str, files: dict[str, Path], depends: str = "") -> Path:
        tree = self.directory / "trees" / f"{suite}-{name}-{version}"
        for inside, source in files.items():
            (tree / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source.resolve(), tree / inside)
        (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
        lines = [f"Package: {name}", f"Version: {version}", f"Architecture: {self.architecture}", "Maintainer: x <x@x>"]
        lines += [f"Depends: {depends}"] if depends else []
        (tree / "DEBIAN" / "control").write_text("\n".join([*lines, "Description: x", ""]))
        pool = self.directory / "pool" / suite
        pool.mkdir(parents=True, exist_ok=True)
        for older in pool.glob(f"{name}_*"):
            older.unlink()
        deb = pool / f"{name}_{version}_{self.architecture}.deb"
        run("dpkg-deb", "-Zgzip", "--root-owner-group", "--build", tree, deb)
        return deb

    def publish(self, suite: str, *, sign: bool = True) -> None:
        dist = self.directory / "dists" / suite
        index = dist / "main" / f"binary-{self.architecture}" / "Packages"
        index.parent.mkdir(parents=True, exist_ok=True)
        stanzas = []
        for deb in sorted((self.directory / "pool" / suite).glob("*.deb")):
            fields = run("dpkg-deb", "-f", deb).rstrip()
            content = deb.read_bytes()
            sha = hashlib.sha256(content).hexdigest()
            place = deb.relative_to(self.directory)
            stanzas.append(f"{fields}\nFilename: {place}\nSize: {len(content)}\nSHA256: {sha}\n")
        index.write_text("\n".join(stanzas))
        told = index.read_bytes()
        release = (
            f"Suite: {suite}\nCodename: {suite}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
            f"Architectures: {self.architecture}\nComponents: main\nSHA256:\n"
            f" {hashlib.sha256(told).hexdigest()} {len(told)} main/binary-{self.architecture}/Packages\n"
        )
        (dist / "Release").write_text(release)
        (dist / "InRelease").unlink(missing_ok=True)
        if sign:
            run("gpg", "--homedir", self.gnupg, "--batch", "--clearsign", "-o", dist / "InRelease", dist / "Release")


@pytest.fixture(scope="module")
def gnupg() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="bl-", dir="/tmp"))  # short: gpg-agent's socket lives in it
    try:
        run("gpg", "--homedir", home, "--batch", "--passphrase", "", "--quick-gen-key", "x@x", "ed25519", "sign")
        (home / "keys.gpg").write_bytes(
            subprocess.run(["gpg", "--homedir", home, "--export"], check=True, capture_output=True).stdout
        )
        yield home
    finally:
        run("gpgconf", "--homedir", home, "--kill", "all")
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def repository(gnupg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(tmp_path / "mirror", gnupg, run("dpkg", "--print-architecture").strip())
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BROKERLAB_DEBIAN_MIRROR", f"file:{made.directory}")
    monkeypatch.setattr(debian_sources, "KEYRINGS", (gnupg / "keys.gpg",))
    add_server(made, "one", "5:8.0.1-1")
    made.publish("one")
    return made


def add_server(repository: Repository, suite: str, version: str) -> None:
    """`fake-server` is this system's `true`, with the libraries it needs in a package of their own."""
    program = Path(shutil.which("true") or "/bin/true")
    assert LOADER is not None
    libraries = {f"usr/lib/fake/{LOADER.name}": LOADER}
    for line in run("ldd", program).splitlines():
        if "=> /" in line:
            path = Path(line.split("=>")[1].split()[0])
            libraries[f"usr/lib/fake/{path.name}"] = path
    repository.add(suite, "fake-server", version, {"usr/bin/fake-server": program}, "fake-libs")
    repository.add(suite, "fake-libs", "1-1", libraries)


def release(tmp_path: Path, lock: str = "", **changes: object) -> DebianRelease:
    path = tmp_path / "fake.lock"
    path.write_text(lock)
    values = {"packages": ("fake-server",), "lock_path": path, "allowed_major": (8,), "suite": "one"}
    return DebianRelease(**(values | {"fallback_suites": ()} | changes))  # type: ignore[arg-type]


def install(wanted: DebianRelease) -> DebianRoot:
    return install_debian("fake", wanted, lambda _what, _share: None)


@pytest.mark.usefixtures("repository")
def test_an_installed_server_runs_with_the_libraries_that_came_with_it(tmp_path: Path) -> None:
    wanted = release(tmp_path)
    assert installed_debian("fake", wanted) is None
    shares: list[float] = []
    root = install_debian("fake", wanted, lambda _what, share: shares.append(share))
    assert installed_debian("fake", wanted) == root
    assert root.version("fake-server") == "8.0.1"
    program = root.path / "usr/bin/fake-server"
    env = {**os.environ, "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / "ld")}
    subprocess.run([program], check=True, env=env)
    assert f"{root.path}/usr/lib/fake/libc.so.6" in "".join(p.read_text() for p in tmp_path.glob("ld.*"))
    assert shares[0] == 0.0
    assert shares[-1] == 1.0


def test_the_version_really_installed_is_recorded_with_its_hash(repository: Repository, tmp_path: Path) -> None:
    root = install(release(tmp_path))
    told = json.loads((root.path.parent / "installed.json").read_text())
    assert told["suite"] == "one"
    server = next(p for p in told["packages"] if p["name"] == "fake-server")
    (deb,) = (repository.directory / "pool" / "one").glob("fake-server_*")
    assert server["version"] == "5:8.0.1-1"
    assert server["sha256"] == hashlib.sha256(deb.read_bytes()).hexdigest()
    assert server["in_lock"] is False


def test_kept_packages_install_again_without_the_mirror(repository: Repository, tmp_path: Path) -> None:
    wanted = release(tmp_path)
    first = install(wanted)
    shutil.rmtree(first.path.parent)
    shutil.rmtree(repository.directory)
    again = install(wanted)
    assert again == first
    subprocess.run([again.path / "usr/bin/fake-server"], check=True)


@pytest.mark.usefixtures("repository")
def test_a_damaged_kept_package_is_fetched_anew(tmp_path: Path) -> None:
    wanted = release(tmp_path)
    first = install(wanted)
    shutil.rmtree(first.path.parent)
    kept = next(debs_directory().glob("fake-server_*"))
    whole = kept.read_bytes()
    kept.unlink()
    kept.write_bytes(whole[: len(whole) // 2])
    again = install(wanted)
    subprocess.run([again.path / "usr/bin/fake-server"], check=True)


def test_a_suite_that_moved_within_the_major_version_is_installed_and_recorded(
    repository: Repository, tmp_path: Path
) -> None:
    add_server(repository, "one", "5:8.4.0-1")
    repository.publish("one")
    root = install(release(tmp_path, lock=f"fake-server 5:8.0.1-1 {repository.architecture} {'0' * 64}\n"))
    assert root.version("fake-server") == "8.4.0"


def test_another_major_version_is_not_taken_but_looked_for_in_the_fallback(
    repository: Repository, tmp_path: Path
) -> None:
    add_server(repository, "two", "5:9.0.0-1")
    repository.publish("two")
    with pytest.raises(InstallError, match="the major version must be 7"):
        install(release(tmp_path, allowed_major=(7,)))
    root = install(release(tmp_path, allowed_major=(9,), fallback_suites=("two",)))
    assert (root.suite, root.version("fake-server")) == ("two", "9.0.0")


def test_a_mirror_that_does_not_answer_is_no_reason_to_take_another_suite(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKERLAB_DEBIAN_MIRROR", "http://127.0.0.1:9/debian")
    for variable in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(InstallError, match="for Debian one failed") as caught:
        install(release(tmp_path, fallback_suites=("two",)))
    assert "two" not in caught.value.message
    assert not (repository.directory / "dists" / "two").exists()


def test_content_that_is_not_what_the_lock_says_is_never_unpacked(repository: Repository, tmp_path: Path) -> None:
    wanted = release(tmp_path, lock=f"fake-server 5:8.0.1-1 {repository.architecture} {'0' * 64}\n")
    with pytest.raises(InstallError, match="the lock says"):
        install(wanted)
    assert installed_debian("fake", wanted) is None
    assert list(debs_directory().glob("*.deb")) == []


def test_an_archive_without_the_distributions_signature_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.publish("one", sign=False)
    with pytest.raises(InstallError, match="not signed"):
        install(release(tmp_path))


@pytest.mark.usefixtures("repository")
def test_an_installation_that_was_moved_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = release(tmp_path)
    install(wanted)
    home = tmp_path / "home"
    home.rename(tmp_path / "elsewhere")
    shutil.copytree(tmp_path / "elsewhere", home, symlinks=True)
    assert installed_debian("fake", wanted) is not None
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "elsewhere"))
    assert installed_debian("fake", wanted) is None


def test_a_package_unpacks_alike_without_dpkg(repository: Repository, tmp_path: Path) -> None:
    (deb,) = (repository.directory / "pool" / "one").glob("fake-server_*")
    run("dpkg-deb", "-x", deb, tmp_path / "a")
    unpack_in_python(deb, tmp_path / "b")
    listed = [sorted(str(p.relative_to(d)) for p in d.rglob("*")) for d in (tmp_path / "a", tmp_path / "b")]
    assert listed[0] == listed[1]
    assert (tmp_path / "a/usr/bin/fake-server").read_bytes() == (tmp_path / "b/usr/bin/fake-server").read_bytes()


def test_programs_are_told_from_other_files(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n")
    assert read_elf(text) is None
    found = read_elf(Path(shutil.which("true") or "/bin/true"))
    assert found is not None
    assert found.interpreter
    assert found.dynamic
