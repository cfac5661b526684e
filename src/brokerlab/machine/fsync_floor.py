"""A floor under the time of an fsync, for disks on which it costs next to nothing: a small library, preloaded into servers."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from brokerlab.errors import MachineError
from brokerlab.native.build import compiled

VARIABLE = "BROKERLAB_FSYNC_FLOOR_NS"
NAME = "fsync_floor"
_PROGRAM_INTERPRETER = 3  # PT_INTERP: the program header of what is linked dynamically


def floored(env: Mapping[str, str], command: Sequence[str], floor_ns: int) -> dict[str, str]:
    """The environment in which a server's fsyncs take at least so long. Raises MachineError where its program is linked
    statically, and without a C compiler."""
    program = shutil.which(command[0], path=env.get("PATH"))
    if program is None or not is_dynamic(Path(program)):
        raise MachineError(
            f"an fsync floor is not possible for {command[0]}: the program is not linked dynamically",
            hint="leave cluster.fsync_floor out of the workload",
        )
    library = compiled(NAME, [Path(__file__).with_name("fsync_floor.c")])
    others = env.get("LD_PRELOAD")
    return {**env, "LD_PRELOAD": f"{library}:{others}" if others else str(library), VARIABLE: str(floor_ns)}


def is_dynamic(program: Path) -> bool:
    """Whether a library can be preloaded into this program, or into the one that reads this script."""
    with program.open("rb") as file:
        head = file.read(64)
        if head.startswith(b"#!"):
            interpreter = Path((head + file.read(256))[2:].split(b"\n")[0].split()[0].decode())
            return is_dynamic(interpreter)
        if head[:5] != b"\x7fELF\x02":  # 64 bits
            return False
        at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    return any(struct.unpack_from("<I", table, i * size)[0] == _PROGRAM_INTERPRETER for i in range(count))


def is_loaded(pid: int) -> bool:
    """Whether the library is in this process. Raises OSError where the process is gone."""
    return f"/{NAME}-" in Path(f"/proc/{pid}/maps").read_text()
