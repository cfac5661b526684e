"""Unpacking tar archives alike on every Python: tarfile's own filters came with 3.11.4, and Debian 12 has 3.11.2."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path


def unpack(archive: tarfile.TarFile, target: Path) -> None:
    """Files, folders and links of `archive` below `target`, owned by the user who unpacks, writable only by them and
    without set-user bits; anything else (device nodes) is left out. A symbolic link may point anywhere, but nothing is
    written through one that leaves `target`: that raises TarError, as any damage does."""
    target.mkdir(parents=True, exist_ok=True)
    archive.extraction_filter = lambda member, _path: member  # `_ours` has judged it; later Pythons want to be told
    archive.extractall(target, members=_ours(archive, target.resolve()))


def _ours(archive: tarfile.TarFile, target: Path) -> Iterator[tarfile.TarInfo]:
    """Made while unpacking goes on, so that links unpacked before are seen."""
    for member in archive:
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            continue
        for place in (member.name, member.linkname) if member.islnk() else (member.name,):
            # Of a symbolic link only the folder it stands in counts: where it points is not written to.
            path = target / place
            real = path.parent.resolve() / path.name if member.issym() else path.resolve()
            if not real.is_relative_to(target):
                raise tarfile.TarError(f"{member.name} would land outside the folder it is unpacked to")
        member.mode &= 0o755
        member.uid = member.gid = -1  # the operating system's word for: leave it as it is
        member.uname = member.gname = ""
        yield member
