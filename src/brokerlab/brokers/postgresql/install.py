"""PostgreSQL's programs: one verified archive for this kind of machine, unpacked into the cache; or those on PATH."""

from __future__ import annotations

import io
import platform
import sys
import tarfile
import zipfile
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.install import tar
from brokerlab.install.cache import Progress, entry, exclusive, new_directory
from brokerlab.install.maven import Artifact, install_artifacts, read_lock
from brokerlab.install.preferred import server_on_path

LOCK = Path(__file__).with_name("postgresql.lock")
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8"}


def artifact_here() -> Artifact | None:
    """The archive for this operating system and processor; None when there is none."""
    wanted = f"{sys.platform}-{_MACHINES.get(platform.machine().lower(), '?')}"
    return next((a for a in read_lock(LOCK) if a.name.endswith(wanted)), None)


def preferred() -> Path | None:
    """The directory of the PostgreSQL on PATH, where the user prefers that and initdb lies beside the server."""
    server = server_on_path("postgresql", "postgres")
    directory = None if server is None else server.resolve().parent.parent
    return directory if directory is not None and (directory / "bin" / "initdb").is_file() else None


def installed() -> Path | None:
    """The directory that holds bin/postgres, if an earlier `install` made it. Installs nothing."""
    artifact = artifact_here()
    directory = None if artifact is None else _directory(artifact)
    return directory if directory is not None and (directory / "bin" / "postgres").is_file() else None


def install(progress: Progress) -> Path:
    """Fetch, verify, unpack; does nothing when it is already there. Raises InstallError."""
    found = installed()
    if found is not None:
        progress("postgresql", 1.0)
        return found
    artifact = artifact_here()
    if artifact is None:
        raise InstallError(
            f"there is no PostgreSQL to fetch for {sys.platform} on {platform.machine()}",
            hint="give the address of a server you run with --endpoint",
        )
    install_artifacts([artifact], progress)
    directory = _directory(artifact)
    with exclusive(directory):
        if not directory.is_dir():  # another process may have made it while we waited
            with new_directory(directory) as temporary:
                _unpack(artifact.path, temporary)
    progress("postgresql", 1.0)
    return directory


def _directory(artifact: Artifact) -> Path:
    return entry("postgresql", f"{artifact.version}-{artifact.sha256[:16]}")


def _unpack(archive: Path, target: Path) -> None:
    """The archive is a zip around one .txz with bin, lib and share."""
    with zipfile.ZipFile(archive) as outer:
        inner = [name for name in outer.namelist() if name.endswith(".txz")]
        if len(inner) != 1:
            raise InstallError(f"{archive.name} is not what it should be", hint="delete it and install again")
        with tarfile.open(fileobj=io.BytesIO(outer.read(inner[0])), mode="r:xz") as archive_inside:
            tar.unpack(archive_inside, target)
