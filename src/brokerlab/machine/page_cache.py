"""The kernel's cache of files: writing what it holds to the disk, how much of a file it holds, and making it let go, so that a
reader must go to the disk."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import threading
from dataclasses import dataclass
from pathlib import Path

LITTLE_BYTES = 64 << 20  # a fraction of a second for any disk
_PAGE_BYTES = mmap.PAGESIZE
_PROT_NONE, _MAP_SHARED = 0, 1
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def unwritten_bytes() -> int:
    """What the kernel holds in memory and has still to write, on all disks together."""
    facts = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return sum(int(facts[name].split()[0]) * 1024 for name in ("Dirty", "Writeback"))


def write_back(directory: Path, within_s: float) -> bool:
    """Wait until the file system of `directory` has written what it holds in memory, unless that is little or the directory
    is gone. False: it was still writing after this time."""
    if unwritten_bytes() < LITTLE_BYTES or not directory.is_dir():
        return True
    descriptor = os.open(directory, os.O_RDONLY)
    written = threading.Event()

    def sync() -> None:
        try:
            _libc.syncfs(descriptor)
        finally:
            os.close(descriptor)
            written.set()

    threading.Thread(target=sync, name="write-back", daemon=True).start()  # a disk that hangs must not hang a run
    return written.wait(within_s)


@dataclass(frozen=True)
class Dropped:
    """Of all files together. What is still held afterwards is in use: files that a server has mapped, or just wrote."""

    files: int
    bytes: int
    held_before_bytes: int
    held_after_bytes: int

    def words(self) -> str:
        before, after = self.held_before_bytes / 1e6, self.held_after_bytes / 1e6
        return f"{self.files} files of {self.bytes / 1e6:,.1f} MB; {before:,.1f} MB were cached before, {after:,.1f} MB after"


def drop(directory: Path) -> Dropped:
    """Write the files below `directory` to the disk and let the kernel forget them. No root needed; the files of others
    stay as they are. Files and folders that go away meanwhile are left out: servers delete in the background."""
    files = total = before = after = 0
    below = (Path(folder, name) for folder, _, names in os.walk(directory) for name in names)
    for path in sorted(p for p in below if p.is_file() and not p.is_symlink()):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                size = os.fstat(descriptor).st_size
                held = held_bytes(descriptor, size)
                os.fsync(descriptor)  # only what is on the disk can be forgotten
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                after += held_bytes(descriptor, size)
            finally:
                os.close(descriptor)
            files, total, before = files + 1, total + size, before + held
    return Dropped(files, total, before, after)


def held_bytes(descriptor: int, size: int) -> int:
    """How much of an open file is in memory, in whole pages."""
    if size == 0:
        return 0
    address = _libc.mmap(None, size, _PROT_NONE, _MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        pages = -(-size // _PAGE_BYTES)
        state = ctypes.create_string_buffer(pages)
        if _libc.mincore(address, size, state) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(byte & 1 for byte in state.raw[:pages]) * _PAGE_BYTES
    finally:
        _libc.munmap(address, size)
