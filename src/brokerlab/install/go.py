"""Servers written in Go, for which no program can be fetched: built here from pinned source, into the cache.

A lock is two files, `NAME.mod` and `NAME.sum`: a go.mod that requires the server's module, and the go.sum with the hash
of every module that the build needs. Go checks them and builds nothing that differs (`-mod=readonly`).

Made by, in an empty directory: go mod init lock && go get -tool PACKAGE@VERSION, then go.mod and go.sum renamed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.install.cache import Progress, entry, exclusive, new_directory, sha256_of

_BUILD_S = 1800
_LAST_LINES = 5


def go_problem() -> str | None:
    """In one line why nothing can be built here; None where it can."""
    return "needs Go to build it from source" if shutil.which("go") is None else None


def built_program(package: str, lock: Path) -> Path | None:
    """An earlier `build_program`, if there is one. `lock` is the file NAME.mod."""
    program = _directory(package, lock) / _name(package)
    return program if program.is_file() else None


def build_program(package: str, lock: Path, progress: Progress) -> Path:
    """Fetch the source, verify it and build `package`, the path of a Go command. Does nothing when it is there; two
    processes at once: the second waits. Raises InstallError."""
    directory = _directory(package, lock)
    with exclusive(directory):
        if built_program(package, lock) is None:
            progress(f"{_name(package)}: built from source, which takes minutes", 0.0)
            with new_directory(directory) as temporary:
                _build(package, lock, temporary)
    progress(_name(package), 1.0)
    return directory / _name(package)


def _name(package: str) -> str:
    return package.rpartition("/")[2]


def _directory(package: str, lock: Path) -> Path:
    return entry("go", f"{_name(package)}-{sha256_of(lock)[:8]}{sha256_of(lock.with_suffix('.sum'))[:8]}")


def _build(package: str, lock: Path, target: Path) -> None:
    why = go_problem()
    if why is not None:
        raise InstallError(f"{_name(package)} {why}", hint="install Go, or give the address of a server you run")
    source = target / "source"
    source.mkdir()
    shutil.copyfile(lock, source / "go.mod")
    shutil.copyfile(lock.with_suffix(".sum"), source / "go.sum")
    command = ["go", "build", "-mod=readonly", "-trimpath", "-o", str(target / _name(package)), package]
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    try:
        done = subprocess.run(
            command, cwd=source, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_BUILD_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as e:
        raise InstallError(f"{_name(package)} was not built in {_BUILD_S} s", hint="try again") from e
    shutil.rmtree(source)
    if done.returncode != 0:
        said = "\n".join(done.stderr.splitlines()[-_LAST_LINES:])
        raise InstallError(f"{_name(package)} could not be built:\n{said}", hint="check the network and Go's version")
