"""For servers that refuse to run as root: started by root, their programs run as `nobody`, through setpriv.

`nobody` must reach the programs and the data. Where a directory on the way is closed to others (root's home is 0700,
and the cache is in it), the programs keep one capability, CAP_DAC_OVERRIDE, so that nothing has to be copied and no
directory of the user's opened.
"""

from __future__ import annotations

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

from brokerlab.errors import MachineError

_CAP_DAC_OVERRIDE, _CAP_SETPCAP = 1, 8


@dataclass(frozen=True)
class Account:
    """Whom a server's programs run as. `prefix` goes before their command line; it is empty for an ordinary user."""

    prefix: tuple[str, ...]
    uid: int
    gid: int
    name: str

    def give(self, path: Path) -> None:
        """Make `path` the account's own."""
        if self.prefix:
            os.chown(path, self.uid, self.gid)


def account_for(product: str, *paths: Path) -> Account:
    """The account that can reach these paths. Raises MachineError, with what to do, where root has no way."""
    if os.geteuid() != 0:
        return Account((), os.geteuid(), os.getegid(), str(os.geteuid()))
    program = shutil.which("setpriv")
    if program is None:
        raise MachineError(f"{product} does not run as root, and there is no setpriv to run it as another user",
                           hint="install util-linux, or run brokerlab as an ordinary user")  # fmt: skip
    try:
        other = pwd.getpwnam("nobody")
    except KeyError:
        raise MachineError(
            f"{product} does not run as root, and there is no user `nobody` to run it as",
            hint="run brokerlab as an ordinary user",
        ) from None
    # setpriv sets the parent-death signal again after the change of user, which clears it.
    prefix = [program, f"--reuid={other.pw_uid}", f"--regid={other.pw_gid}", "--clear-groups", "--pdeathsig=keep"]
    closed = [directory for path in paths if (directory := closed_to_others(path)) is not None]
    if closed:
        if not _has_capabilities():
            raise MachineError(
                f"{product} does not run as root, and the user `nobody` cannot enter {closed[0]}",
                hint="set BROKERLAB_HOME and BROKERLAB_RUNS to directories others may enter, or run as another user",
            )
        # Without no_setuid_fixup, access(2) would ignore the capability, and initdb asks by access(2).
        prefix += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--securebits=+no_setuid_fixup"]
    return Account((*prefix, "--"), other.pw_uid, other.pw_gid, "nobody")


def closed_to_others(path: Path) -> Path | None:
    """The first directory on the way to `path` that an unrelated user cannot enter. What does not exist yet is fine."""
    whole = path.resolve()
    for directory in (*reversed(whole.parents), whole):
        if directory.is_dir() and not directory.stat().st_mode & 0o001:
            return directory
    return None


def _has_capabilities() -> bool:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    held = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapPrm:")), 0)
    return all(held >> number & 1 for number in (_CAP_DAC_OVERRIDE, _CAP_SETPCAP))
