"""Where the servers come from: relocated Debian packages, or a server on PATH when the user prefers that."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Installation, Progress
from brokerlab.errors import InstallError
from brokerlab.install.debian import (
    DebianRelease,
    DebianRoot,
    debian_problem,
    install_debian,
    installed_debian,
)
from brokerlab.install.preferred import said_version, server_on_path

_MAJORS = {"Redis": (8,), "Valkey": (8, 9)}


def release_of(family: str) -> DebianRelease:
    name = family.lower()
    return DebianRelease(
        packages=(f"{name}-server", f"{name}-tools"),
        lock_path=Path(__file__).with_name(f"{name}.lock"),
        allowed_major=_MAJORS[family],
    )


def installation(family: str, version: str) -> Installation:
    """Looks only; `version` is what would be installed."""
    name = family.lower()
    preferred = server_on_path(name, f"{name}-server")
    if preferred is not None:
        return Installation(True, True, said_version(preferred), f"{preferred}, found on PATH", preferred)
    root = installed_debian(name, release_of(family))
    if root is not None:
        found = root.version(f"{name}-server")
        return Installation(True, True, found, f"from Debian {root.suite}, in a private root", _program(root, name))
    problem = debian_problem()
    if problem is not None:
        return Installation(False, False, version, problem)
    return Installation(False, True, version, f"not installed: brokerlab install {name}")


def install(family: str, version: str, progress: Progress) -> Installation:
    name = family.lower()
    if server_on_path(name, f"{name}-server") is None:
        root = install_debian(name, release_of(family), progress)
        if not _program(root, name).is_file():
            raise InstallError(f"no {name}-server in {root.path}", hint="delete that directory and install again")
    return installation(family, version)


def _program(root: DebianRoot, name: str) -> Path:
    """Debian's redis-server is a link to redis-check-rdb, one program that looks at its own name."""
    return root.path / "usr" / "bin" / f"{name}-server"
