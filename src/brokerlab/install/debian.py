"""Servers from Debian packages without root and without touching the system: fetched and verified by an apt of our own
(debian_apt), checked against our lock (debian_lock), unpacked into a private root and made to use the libraries that
came with them (debian_unpack).

In the cache, under `debian/`: `debs` keeps every .deb, `apt/SUITE` the lists, `NAME-HASH` an installation (`root` and
`installed.json`, which says what was really installed), `NAME-HASH.closure.json` which .deb files it is made from.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.install import preferred
from brokerlab.install.cache import Progress, entry, exclusive, new_directory, sha256_of, write_whole
from brokerlab.install.debian_apt import PrivateApt, UnreachableError, debs_directory, why_not_here
from brokerlab.install.debian_lock import Package, contradictions, major_of, read_lock, upstream_version
from brokerlab.install.debian_unpack import relocate, unpack

_FORMAT = 1  # raised when unpacking or relocating changes: older installations are then replaced
_DOWNLOADED = 0.8  # of the whole work


@dataclass(frozen=True)
class DebianRelease:
    """What to install. `packages[0]` is the server: its version decides whether a suite will do."""

    packages: tuple[str, ...]
    lock_path: Path
    allowed_major: tuple[int, ...]
    suite: str = "trixie"
    fallback_suites: tuple[str, ...] = ("sid",)

    @property
    def tag(self) -> str:
        told = [_FORMAT, self.packages, self.allowed_major, self.suite, self.fallback_suites, sha256_of(self.lock_path)]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class DebianRoot:
    """An installation: `path` is its private root, `versions` what was really installed, by package."""

    path: Path
    versions: dict[str, str]
    suite: str

    def version(self, package: str) -> str:
        """Upstream's version of one package: "8.0.2"."""
        return upstream_version(self.versions[package])


def installed_debian(name: str, release: DebianRelease) -> DebianRoot | None:
    """An earlier `install_debian`, if there is one and it has not been moved. Installs nothing."""
    return _read(_directory(name, release))


def debian_problem() -> str | None:
    """In one line why Debian packages cannot be installed here; None when they can."""
    return why_not_here()


def install_debian(name: str, release: DebianRelease, progress: Progress) -> DebianRoot:
    """Fetch, verify, unpack, relocate. Does nothing when it is there; works without a network from kept .deb files; an
    interrupted download goes on. Two processes at once: the second waits. Raises InstallError."""
    directory = _directory(name, release)
    found = _read(directory)
    if found is None:
        with exclusive(entry("debian", "store")):  # one for all: apt's lists and the .deb files are shared
            found = _read(directory) or _install(name, release, directory, progress)
    progress(name, 1.0)
    return found


def _directory(name: str, release: DebianRelease) -> Path:
    return entry("debian", f"{name}-{release.tag}")


def _read(directory: Path) -> DebianRoot | None:
    try:
        told = json.loads((directory / "installed.json").read_text())
    except (OSError, ValueError):
        return None
    if told["directory"] != str(directory):  # moved: its programs name libraries at the old place
        return None
    return DebianRoot(directory / "root", {p["name"]: p["version"] for p in told["packages"]}, told["suite"])


def _install(name: str, release: DebianRelease, directory: Path, progress: Progress) -> DebianRoot:
    progress(f"{name}: package index", 0.0)
    closure_file = directory.with_name(f"{directory.name}.closure.json")
    suite, packages = _kept(closure_file) or _fetched(name, release, progress)
    write_whole(
        closure_file, json.dumps({"suite": suite, "packages": [asdict(p) for p in packages]}, indent=1).encode()
    )
    if directory.exists():
        shutil.rmtree(directory)
    lock = read_lock(release.lock_path)
    with new_directory(directory) as temporary:
        root = temporary / "root"
        root.mkdir()
        for done, package in enumerate(packages):
            progress(f"{name}: {package.name}", _DOWNLOADED + (1 - _DOWNLOADED) * done / (len(packages) + 1))
            unpack(debs_directory() / package.file, root)
        progress(f"{name}: libraries", 0.98)
        relocate(root, directory / "root")
        told = {
            "directory": str(directory),
            "suite": suite,
            "installed_unix_s": int(time.time()),
            "packages": [asdict(p) | {"in_lock": p.key in lock} for p in packages],
        }
        (temporary / "installed.json").write_text(json.dumps(told, indent=1))
    made = _read(directory)
    assert made is not None
    return made


def _kept(closure_file: Path) -> tuple[str, list[Package]] | None:
    """An earlier closure whose .deb files are all still here and whole: no network is needed then."""
    try:
        told = json.loads(closure_file.read_text())
        packages = [Package(**p) for p in told["packages"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return None if _missing(packages) else (told["suite"], packages)


def _missing(packages: list[Package]) -> list[Package]:
    debs = debs_directory()
    return [p for p in packages if not (debs / p.file).is_file() or sha256_of(debs / p.file) != p.sha256]


def _fetched(name: str, release: DebianRelease, progress: Progress) -> tuple[str, list[Package]]:
    """From the first suite that has an allowed version."""
    refusals = []
    for suite in (release.suite, *release.fallback_suites):
        apt = PrivateApt(suite)
        try:
            packages = apt.closure(release.packages)
        except UnreachableError:
            raise  # a network that fails for a moment must not make us take another suite
        except InstallError as e:
            refusals.append(e.message)
            continue
        server = next((p for p in packages if p.name == release.packages[0]), None)
        if server is None or major_of(server.version) not in release.allowed_major:
            said = "has no such package" if server is None else f"has {server.version}"
            refusals.append(f"Debian {suite} {said}; the major version must be {_either(release.allowed_major)}")
            continue
        _download(name, apt, packages, release, progress)
        return suite, packages
    raise InstallError(
        f"{release.packages[0]} could not be installed: " + "; ".join(refusals),
        hint=f"check the network and try again, or install it yourself and set {preferred.VARIABLE}={name}",
    )


def _download(name: str, apt: PrivateApt, packages: list[Package], release: DebianRelease, progress: Progress) -> None:
    wrong = contradictions(packages, read_lock(release.lock_path))
    if wrong:
        raise InstallError(
            f"{wrong[0]} ({len(wrong)} such packages)",
            hint="the archive does not have the pinned packages: try another mirror; do not use these",
        )
    for damaged in _missing(packages):  # a kept file of the right name and wrong content would be taken by apt
        (debs_directory() / damaged.file).unlink(missing_ok=True)
    size_mb = sum(p.size_bytes for p in packages) / 1e6
    apt.download(packages, lambda share: progress(f"{name}: {size_mb:.0f} MB of packages", share * _DOWNLOADED))
    left = _missing(packages)
    if left:
        raise InstallError(f"{left[0].file} was not fetched completely", hint="try again; what was fetched is kept")


def _either(majors: tuple[int, ...]) -> str:
    return " or ".join(map(str, majors))
