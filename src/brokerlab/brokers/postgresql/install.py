"""PostgreSQL's programs: one verified archive for this kind of machine, unpacked into the cache; or those on PATH."""

from __future__ import annotations

import io
import platform
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.brokers.contract import Progress
from brokerlab.brokers.kit.recipes import Found, ServerRecipe
from brokerlab.errors import InstallError

if TYPE_CHECKING:
    from brokerlab.install.maven import Artifact

LOCK = Path(__file__).with_name("postgresql.lock")
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8"}


@dataclass(frozen=True)
class FromArchive(ServerRecipe):
    """`programs` is the directory that holds bin/postgres."""

    def preferred(self) -> Found | None:
        """Where initdb lies beside the server."""
        own = super().preferred()
        directory = None if own is None or own.location is None else own.location.resolve().parent.parent
        if own is None or directory is None or not (directory / "bin" / "initdb").is_file():
            return None
        return Found(directory, own.version, f"{directory}, found on PATH", directory)

    def fetched(self) -> Found | None:
        artifact = artifact_here()
        directory = None if artifact is None else _directory(artifact)
        if directory is None or not (directory / "bin" / "postgres").is_file():
            return None
        return Found(directory, self.version, "from the archive embedded-postgres-binaries", directory)

    def impossible(self) -> str | None:
        return "no PostgreSQL archive for this kind of machine" if artifact_here() is None else None

    def fetch_ours(self, progress: Progress) -> None:
        from brokerlab.install.cache import exclusive, new_directory
        from brokerlab.install.maven import install_artifacts

        artifact = artifact_here()
        if artifact is None:
            raise InstallError(
                f"there is no PostgreSQL to fetch for {sys.platform} on {platform.machine()}",
                hint="give the address of a server you run with --endpoint",
            )
        if self.fetched() is None:
            install_artifacts([artifact], progress)
            directory = _directory(artifact)
            with exclusive(directory):
                if not directory.is_dir():  # another process may have made it while we waited
                    with new_directory(directory) as temporary:
                        _unpack(artifact.path, temporary)
        progress("postgresql", 1.0)


RECIPE = FromArchive(broker="postgresql", version="18.6", server="postgresql", program="postgres")


def artifact_here() -> Artifact | None:
    """The archive for this operating system and processor; None when there is none."""
    from brokerlab.install.maven import read_lock

    wanted = f"{sys.platform}-{_MACHINES.get(platform.machine().lower(), '?')}"
    return next((a for a in read_lock(LOCK) if a.name.endswith(wanted)), None)


def _directory(artifact: Artifact) -> Path:
    from brokerlab.install.cache import entry

    return entry("postgresql", f"{artifact.version}-{artifact.sha256[:16]}")


def _unpack(archive: Path, target: Path) -> None:
    """The archive is a zip around one .txz with bin, lib and share."""
    from brokerlab.install import tar

    with zipfile.ZipFile(archive) as outer:
        inner = [name for name in outer.namelist() if name.endswith(".txz")]
        if len(inner) != 1:
            raise InstallError(f"{archive.name} is not what it should be", hint="delete it and install again")
        with tarfile.open(fileobj=io.BytesIO(outer.read(inner[0])), mode="r:xz") as archive_inside:
            tar.unpack(archive_inside, target)
