"""Java artifacts named by a lock file of ours: fetched, verified by sha256, kept in the cache.

A lock has one line per file, `group:artifact:version[:classifier:extension] sha256 size`; `#` begins a comment. Where
the repository is, the `jgo` library knows; BROKERLAB_MAVEN_MIRROR names another one for people who have a mirror.

A lock whose comments say what it was made from (`# root COORDINATE` with all that it needs, `# alone COORDINATE` without)
is made again by `python -m brokerlab.install.maven LOCK`.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.install.cache import Progress, entry, exclusive, sha256_of

MIRROR_VARIABLE = "BROKERLAB_MAVEN_MIRROR"
_DOWNLOADS_AT_ONCE = 4
_TIMEOUT_S = 60
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Artifact:
    """One file of a repository and what it must be."""

    group: str
    name: str
    version: str
    classifier: str
    extension: str
    sha256: str
    size_bytes: int

    @property
    def coordinate(self) -> str:
        plain = f"{self.group}:{self.name}:{self.version}"
        return (
            plain if (self.classifier, self.extension) == ("", "jar") else f"{plain}:{self.classifier}:{self.extension}"
        )

    @property
    def path(self) -> Path:
        """Where the file is kept in the cache, or would be."""
        ending = f"-{self.classifier}" if self.classifier else ""
        return entry("maven", self.group, f"{self.name}-{self.version}{ending}.{self.extension}")


Fetch = Callable[[Artifact, Path], Path]  # (what, a scratch directory) -> the file as downloaded


def parse_coordinate(text: str) -> tuple[str, str, str, str, str]:
    """group, name, version, classifier ("" for none), extension. Raises ValueError."""
    parts = text.split(":")
    if len(parts) not in (3, 5) or not all(parts[:3]) or (len(parts) == 5 and not parts[4]):
        raise ValueError(f"{text!r} is not group:artifact:version[:classifier:extension]")
    classifier, extension = (parts[3], parts[4]) if len(parts) == 5 else ("", "jar")
    return parts[0], parts[1], parts[2], classifier, extension


def parse_lock(text: str, file_name: str) -> tuple[Artifact, ...]:
    """The artifacts of a lock, in its order. Raises InstallError naming the line that is wrong."""
    artifacts = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        try:
            coordinate, sha256, size = fields
            if not _SHA256.fullmatch(sha256):
                raise ValueError(f"{sha256!r} is not a sha256")
            artifacts.append(Artifact(*parse_coordinate(coordinate), sha256, int(size)))
        except ValueError as e:
            raise InstallError(f"{file_name}:{number}: {e}", hint="make the lock file again") from e
    return tuple(artifacts)


def read_lock(lock_file: Path) -> tuple[Artifact, ...]:
    return parse_lock(lock_file.read_text(), lock_file.name)


def missing(artifacts: Iterable[Artifact]) -> list[Artifact]:
    """Those not in the cache. Looks at sizes only: a file gets its name after its hash was checked."""
    return [a for a in artifacts if not a.path.is_file() or a.path.stat().st_size != a.size_bytes]


def install_artifacts(artifacts: Sequence[Artifact], progress: Progress, fetch: Fetch | None = None) -> None:
    """Bring every artifact into the cache. Files already there with the right hash are not fetched again, so an
    interrupted installation goes on where it was. Two processes at once: the second waits for the first."""
    fetch = fetch or fetch_with_jgo
    total = max(sum(a.size_bytes for a in artifacts), 1)
    with exclusive(entry("maven", "store")):
        wanted = [a for a in artifacts if not a.path.is_file() or sha256_of(a.path) != a.sha256]
        done_bytes = total - sum(a.size_bytes for a in wanted)
        counting = threading.Lock()

        def get(artifact: Artifact) -> None:
            nonlocal done_bytes
            _install_one(artifact, fetch)
            with counting:
                done_bytes += artifact.size_bytes
                progress(artifact.path.name, done_bytes / total)

        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE, thread_name_prefix="download") as pool:
            running = [pool.submit(get, artifact) for artifact in wanted]
            try:
                for future in running:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    progress(f"{len(artifacts)} files", 1.0)


def _install_one(artifact: Artifact, fetch: Fetch) -> None:
    final = artifact.path
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=final.parent) as scratch:
        try:
            got = fetch(artifact, Path(scratch))
        except (OSError, RuntimeError) as e:  # requests' errors are OSErrors; jgo says "not found" by RuntimeError
            raise InstallError(
                f"{artifact.coordinate} could not be fetched: {e}",
                hint=f"check the network and try again; what was fetched is kept. {MIRROR_VARIABLE} names a mirror",
            ) from e
        found = sha256_of(got)
        if found != artifact.sha256:
            raise InstallError(
                f"{artifact.coordinate} has sha256 {found}, the lock says {artifact.sha256}",
                hint="the download is damaged, or is not the pinned file: try again; do not use it",
            )
        got.replace(final)


def fetch_with_jgo(artifact: Artifact, scratch: Path) -> Path:
    """Download one artifact below `scratch`."""
    context = _context(scratch)
    component = context.project(artifact.group, artifact.name).at_version(artifact.version)
    path: Path = component.artifact(artifact.classifier, artifact.extension).resolve()
    return path


def lock_lines(roots: Sequence[str], alone: Sequence[str], scratch: Path) -> list[str]:
    """A new lock: the runtime closure of `roots`, then `alone` without what they depend on. Downloads all."""
    context = _context(scratch)
    # "!": without it jgo lets every root manage the versions of all others, and one root's parent gave another the
    # client of 3.9. With it the closure is the one Maven itself computes.
    wanted = [context.create_dependency(f"{root}!") for root in roots]
    inputs, closure = context.resolver.resolve(wanted) if wanted else ([], [])  # it takes no empty list
    chosen = [d.artifact for d in (*inputs, *closure) if d.scope in (None, "", "compile", "runtime")]
    for coordinate in alone:
        group, name, version, classifier, extension = parse_coordinate(coordinate)
        chosen.append(context.project(group, name).at_version(version).artifact(classifier, extension))
    lines = []
    for one in chosen:
        got: Path = one.resolve()
        made = Artifact(
            one.groupId, one.artifactId, one.version, one.classifier, one.packaging, sha256_of(got), got.stat().st_size
        )
        lines.append(f"{made.coordinate} {made.sha256} {made.size_bytes}")
    return sorted(set(lines))


def remade(lock: str, lines_of: Callable[[list[str], list[str]], list[str]]) -> str:
    """The text of a lock made again: its comments, and what `lines_of` gives for its roots and for those alone."""
    comments = [line for line in lock.splitlines() if line.startswith("#")]
    return "\n".join([*comments, *lines_of(commented(lock, "root"), commented(lock, "alone"))]) + "\n"


def commented(lock: str, kind: str) -> list[str]:
    """What the comments of a lock name: those that begin with `# kind `."""
    comments = [line.split() for line in lock.splitlines() if line.startswith("#")]
    return [words[2] for words in comments if words[1:2] == [kind]]


def _context(scratch: Path):  # type: ignore[no-untyped-def]  # jgo has no types
    from jgo.maven import MavenContext, PythonResolver

    mirror = os.environ.get(MIRROR_VARIABLE)
    repositories = {"mirror": mirror} if mirror else None
    return MavenContext(repo_cache=scratch, resolver=PythonResolver(), remote_repos=repositories, timeout=_TIMEOUT_S)


if __name__ == "__main__":
    import sys

    with tempfile.TemporaryDirectory() as downloads:
        file = Path(sys.argv[1])
        file.write_text(remade(file.read_text(), lambda roots, alone: lock_lines(roots, alone, Path(downloads))))
