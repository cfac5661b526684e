"""Compiles native/*.c into the cache, once per source text and processor."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from brokerlab.errors import MachineError
from brokerlab.home import cache_directory

FLAGS = ("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC", "-Wall", "-Wextra", "-fvisibility=hidden")


def source_directory() -> Path:
    """In an installed package the sources lie beside this file; in a checkout, in native/ at its top."""
    installed = Path(__file__).parent / "source"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "native"


def compiler() -> str | None:
    """The C compiler: $CC, else cc, gcc or clang on PATH."""
    wanted = [os.environ["CC"]] if os.environ.get("CC") else ["cc", "gcc", "clang"]
    return next((found for name in wanted if (found := shutil.which(name))), None)


def _fingerprint(sources: list[Path]) -> str:
    """Changes with the text, the flags and the processor, because -march=native is not portable."""
    digest = hashlib.sha256(" ".join((*FLAGS, platform.machine(), platform.processor())).encode())
    try:
        cpu = Path("/proc/cpuinfo").read_text()
        digest.update(next((line for line in cpu.splitlines() if line.startswith("flags")), "").encode())
    except OSError:
        pass
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def built_library() -> Path:
    """The path of the library, compiled now if it is not in the cache. Raises MachineError with the reason."""
    directory = source_directory()
    sources = sorted(directory.glob("*.c"))
    if not sources:
        raise MachineError(f"no C sources in {directory}")
    return compiled("brokerlab", sources, sorted(directory.glob("*.h")))


def compiled(name: str, sources: list[Path], headers: Sequence[Path] = ()) -> Path:
    """A shared library of these sources, compiled now if it is not in the cache. Raises MachineError with the reason."""
    target = cache_directory() / "native" / f"{name}-{_fingerprint([*sources, *headers])}.so"
    if target.exists():
        return target
    cc = compiler()
    if cc is None:
        raise MachineError("no C compiler on PATH", hint="apt-get install gcc libc6-dev, or set CC")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        out = Path(temporary) / "library.so"
        made = subprocess.run(
            [cc, *FLAGS, "-o", str(out), *map(str, sources), "-ldl"], capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise MachineError(f"{cc} failed:\n{made.stderr.strip()[-2000:]}")
        out.replace(target)
    return target
