"""How many bytes lie in the data directories of a cluster."""

from __future__ import annotations

import os
import time
from pathlib import Path

from brokerlab.brokers.contract import Reading
from brokerlab.model import subjects
from brokerlab.model.watched_here import CLUSTER

_BLOCK_BYTES = 512  # st_blocks counts these, whatever the file system's own block size
REST = 50  # times the length of a walk pass before the next one: at most 2 % of a core


class StoredBytes:
    """Walks a directory at most once a call, and rests after a long walk: thousands of partitions are as many files."""

    def __init__(self, directory: Path, rest: int = REST) -> None:
        self._directory = str(directory)
        self._rest = rest
        self._not_before_ns = 0

    def read(self, now_ns: int) -> list[Reading]:
        """The reading, or nothing while it rests."""
        return [] if now_ns < self._not_before_ns else self.read_now(now_ns)

    def read_now(self, now_ns: int) -> list[Reading]:
        begun_ns = time.monotonic_ns()
        stored = stored_bytes(self._directory)
        self._not_before_ns = now_ns + self._rest * (time.monotonic_ns() - begun_ns)
        return [Reading.of(CLUSTER["stored_bytes"], subjects.CLUSTER, stored)]


def stored_bytes(directory: str) -> int:
    """Bytes of all files below: of each its length or what it occupies, whichever is less, since some servers make files
    longer than what is in them and some file systems give files more than they need. A file with several names counts
    once; what vanishes while it is looked at counts nothing."""
    total = 0
    seen: set[tuple[int, int]] = set()
    waiting = [directory]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        total += _size(entry, seen)
        except OSError:  # deleted meanwhile
            continue
    return total


def _size(entry: os.DirEntry[str], seen: set[tuple[int, int]]) -> int:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return 0
    if found.st_nlink > 1:
        if (found.st_dev, found.st_ino) in seen:
            return 0
        seen.add((found.st_dev, found.st_ino))
    return min(found.st_size, found.st_blocks * _BLOCK_BYTES)
