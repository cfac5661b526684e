"""What disk and loopback of this machine can do at most, measured in about two seconds and kept until the next boot."""

from __future__ import annotations

import os
import platform
import socket
import tempfile
import threading
import time
from pathlib import Path

from pydantic import ValidationError

from brokerlab.doctor.measurements import fsync_times_ns, quantile, sleep_lateness_ns
from brokerlab.home import cache_directory
from brokerlab.model.document import Document
from brokerlab.model.environment import Ceilings

DISK_BLOCK_BYTES = 8 << 20
LOOPBACK_BLOCK_BYTES = 1 << 20
QUIET_S, DISK_S, FSYNC_S, LOOPBACK_S = 0.3, 0.8, 0.6, 0.5
QUIET_CORES = 0.2  # with more of other programs' work beside, the figures are used once and not kept


class _Kept(Document):
    """What the figures hold for: this boot of this host, and one disk."""

    boot: str
    device: int
    ceilings: Ceilings


def ceilings(directory: Path) -> Ceilings:
    """Of the disk that holds `directory` and of the loopback: those of this boot where they are known, else measured now."""
    known = _read(_file())
    boot, device = _boot(), directory.stat().st_dev
    if known is not None and (known.boot, known.device) == (boot, device):
        return known.ceilings
    found = measured(directory)
    if found.other_cores <= QUIET_CORES:
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(_Kept(boot=boot, device=device, ceilings=found).model_dump_json())
    return found


def measured(directory: Path) -> Ceilings:
    """Measured now; raises OSError where the directory cannot be written."""
    _, other_cores = sleep_lateness_ns(QUIET_S)  # before: the kernel's threads work for us while we write
    disk = disk_write_bytes_per_s(directory, DISK_S)
    fsyncs = fsync_times_ns(directory, count=1000, most_s=FSYNC_S)
    loopback = loopback_bytes_per_s(LOOPBACK_S)
    return Ceilings(
        measured_unix_s=time.time(),
        directory=str(directory),
        disk_write_bytes_per_s=disk,
        fsync_p50_ns=quantile(fsyncs, 0.5),
        fsync_p99_ns=quantile(fsyncs, 0.99),
        loopback_bytes_per_s=loopback,
        other_cores=other_cores,
    )


def disk_write_bytes_per_s(directory: Path, for_s: float) -> float:
    """One file written in blocks that are each fsynced, at least one: the page cache hides nothing."""
    block = os.urandom(DISK_BLOCK_BYTES)
    written = 0
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        began = time.monotonic()
        while written == 0 or time.monotonic() - began < for_s:
            view = memoryview(block)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
            written += len(block)
        return written / (time.monotonic() - began)


def loopback_bytes_per_s(for_s: float) -> float:
    """One TCP connection over 127.0.0.1, sent by one thread and received by another."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as sender:
        receiver, _ = listener.accept()
        with receiver:
            until = time.monotonic() + for_s
            thread = threading.Thread(target=_send, args=(sender, until), daemon=True)
            began = time.monotonic()
            thread.start()
            received, buffer = 0, bytearray(LOOPBACK_BLOCK_BYTES)
            while count := receiver.recv_into(buffer):
                received += count
            elapsed = time.monotonic() - began
            thread.join()
    return received / elapsed


def _send(sender: socket.socket, until: float) -> None:
    block = bytes(LOOPBACK_BLOCK_BYTES)
    while time.monotonic() < until:
        sender.sendall(block)
    sender.shutdown(socket.SHUT_WR)


def _file() -> Path:
    return cache_directory() / f"ceilings-{platform.node()}.json"


def _read(file: Path) -> _Kept | None:
    try:
        return _Kept.model_validate_json(file.read_text())
    except (OSError, ValidationError):  # none yet, or written by another version: measured again
        return None


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
