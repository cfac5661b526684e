"""Python programs in a virtual environment of their own in the cache, made from a hashed lock file.

Packages that come as source only are built with the setuptools of the same lock, never with one that pip would fetch
unseen, so what runs is what the lock names.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.install.cache import Progress, entry, exclusive, new_directory, sha256_of
from brokerlab.install.wheel import pip_error

_PIP = ("install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes")
Finish = Callable[[Path], None]  # what is done in a new environment before it counts as installed


def venv_directory(name: str, lock_file: Path) -> Path:
    """Where the environment of `lock_file` is, or would be: another lock file or another Python gives another one."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return entry("venvs", f"{name}-{python}-{sha256_of(lock_file)[:16]}")


def installed_venv(name: str, lock_file: Path) -> Path | None:
    """The directory of an earlier `install_venv`, if there is one. Installs nothing."""
    directory = venv_directory(name, lock_file)
    return directory if directory.is_dir() else None


def install_venv(
    name: str,
    lock_file: Path,
    progress: Progress,
    *,
    build_env: Mapping[str, str] | None = None,
    finish: Finish | None = None,
) -> Path:
    """Make the environment that `lock_file` names and return its directory; `build_env` is set while packages are built.

    Does nothing when it is there. Two processes at once: the second waits and finds it. Raises InstallError when a
    package cannot be fetched or built or its hash differs; nothing is left behind then. Programs in it must be started
    as `bin/python bin/PROGRAM`: their first lines name the place where the environment was made.
    """
    directory = venv_directory(name, lock_file)
    if not directory.is_dir():
        with exclusive(directory):
            if not directory.is_dir():  # another process may have made it while we waited
                progress(name, 0.0)
                with new_directory(directory) as temporary:
                    _fill(name, lock_file, temporary, progress, dict(build_env or {}))
                    if finish is not None:
                        finish(temporary)
    progress(name, 1.0)
    return directory


def _fill(name: str, lock_file: Path, directory: Path, progress: Progress, build_env: dict[str, str]) -> None:
    venv.create(directory, with_pip=False)
    python = directory / "bin" / "python"
    with tempfile.NamedTemporaryFile("w", suffix=".lock") as builder:
        builder.write(requirement_lines(lock_file.read_text(), "setuptools", lock_file.name))
        builder.flush()
        _pip(name, lock_file, python, ["--only-binary", ":all:", "--requirement", builder.name], {})
    progress(name, 0.1)
    _pip(name, lock_file, python, ["--no-build-isolation", "--requirement", str(lock_file)], build_env)


def requirement_lines(lock: str, package: str, file_name: str) -> str:
    """The lines of one package in a lock: its pin and its hashes. Raises InstallError where there are none."""
    found = re.search(rf"^(?={re.escape(package)}==)(?:.*\\\n)*.*", lock, re.MULTILINE)
    if found is None:
        raise InstallError(f"{file_name} does not name {package}", hint="make the lock file again")
    return f"{found[0]}\n"


def _pip(name: str, lock_file: Path, python: Path, words: list[str], more_env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pip", "--python", str(python), *_PIP, *words]
    # A user's pip settings for their own environment must not stop an installation into our cache.
    env = {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", **more_env}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise pip_error(name, lock_file, done.stderr.strip() or done.stdout.strip())
