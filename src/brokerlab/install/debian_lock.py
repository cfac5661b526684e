"""Lock files for Debian packages: one line per package, `package version architecture sha256`; `#` begins a comment.

A suite may move to a newer version. Then the lock has nothing to say about that package, and the archive's signature
alone guarantees it; where version and architecture are the lock's, the sha256 must be the lock's too.

Made by: python -m brokerlab.install.debian_lock SUITE PACKAGE... > broker.lock
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from brokerlab.errors import BrokerlabError, InstallError

_SHA256 = re.compile(r"[0-9a-f]{64}")
_URI_LINE = re.compile(r"'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) (?:SHA256:(?P<sha256>[0-9a-f]{64}))?.*")
Lock = dict[tuple[str, str, str], str]  # (package, version, architecture) -> sha256


@dataclass(frozen=True)
class Package:
    """One .deb of a closure, as the signed index describes it."""

    name: str
    version: str  # with epoch and revision: "5:8.0.2-3"
    architecture: str
    file: str  # apt's file name, with the epoch's colon escaped
    size_bytes: int
    sha256: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.name, self.version, self.architecture


def parse_lock(text: str, file_name: str) -> Lock:
    """Raises InstallError naming the line that is wrong."""
    lock: Lock = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        if len(fields) != 4 or not _SHA256.fullmatch(fields[3]):
            raise InstallError(
                f"{file_name}:{number}: not `package version architecture sha256`", hint="make the lock file again"
            )
        lock[(fields[0], fields[1], fields[2])] = fields[3]
    return lock


def parse_print_uris(text: str) -> list[Package]:
    """The packages in the output of `apt-get --print-uris install`. Raises InstallError without sha256 sums."""
    found = []
    for line in text.splitlines():
        match = _URI_LINE.fullmatch(line.strip())
        if match is None:
            continue
        if match["sha256"] is None:
            raise InstallError(f"{match['file']} has no sha256 in the index", hint="use another mirror")
        name, version, rest = unquote(match["file"]).rsplit("_", 2)
        architecture = rest.removesuffix(".deb")
        found.append(Package(name, version, architecture, match["file"], int(match["size"]), match["sha256"]))
    return found


def contradictions(packages: Iterable[Package], lock: Lock) -> list[str]:
    """Packages that have the lock's version but not its content. Nothing may be installed if there are any."""
    return [
        f"{p.name} {p.version} has sha256 {p.sha256}, the lock says {lock[p.key]}"
        for p in packages
        if p.key in lock and lock[p.key] != p.sha256
    ]


def upstream_version(version: str) -> str:
    """A Debian version without epoch and revision: "5:8.0.2-3+deb13u1" -> "8.0.2"."""
    plain = version.partition(":")[2] or version
    plain = plain.rpartition("-")[0] or plain
    return re.split(r"[+~]", plain)[0]


def major_of(version: str) -> int:
    found = re.match(r"\d+", upstream_version(version))
    return int(found[0]) if found else -1


def read_lock(path: Path) -> Lock:
    return parse_lock(path.read_text(), path.name)


def main(arguments: list[str]) -> int:
    """Print a lock for this machine's architecture."""
    from brokerlab.install.cache import entry, exclusive
    from brokerlab.install.debian_apt import PrivateApt

    if len(arguments) < 2:
        print("usage: python -m brokerlab.install.debian_lock SUITE PACKAGE...", file=sys.stderr)
        return 2
    suite, *packages = arguments
    try:
        with exclusive(entry("debian", "store")):
            closure = PrivateApt(suite).closure(packages)
    except BrokerlabError as e:
        print(e, file=sys.stderr)
        return int(e.exit_code)
    print(f"# {suite}: {' '.join(packages)}")
    for p in sorted(closure, key=lambda p: p.key):
        print(f"{p.name} {p.version} {p.architecture} {p.sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
