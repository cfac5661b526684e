"""A lock made again by `mvn`, for artifacts whose poms jgo does not understand: `python -m brokerlab.install.maven_closure LOCK`.

The lock's comments say of what: `# bom group:name:version`, a project that manages versions, and `# root group:name` with
or without a version, what is wanted with everything it needs at run time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from brokerlab.install.cache import sha256_of
from brokerlab.install.maven import Artifact, commented, remade


def pom(lock: str) -> str:
    """A project that depends on the lock's roots, in the versions that its boms manage."""

    def dependency(coordinate: str, more: str = "") -> str:
        parts = zip(("groupId", "artifactId", "version"), coordinate.split(":"), strict=False)
        return f"<dependency>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in parts)}{more}</dependency>"

    imported = "<type>pom</type><scope>import</scope>"
    managed = "".join(dependency(bom, imported) for bom in commented(lock, "bom"))
    wanted = "".join(dependency(root) for root in commented(lock, "root"))
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>lock</groupId><artifactId>lock</artifactId>"
        f"<version>1</version><dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>"
        f"<dependencies>{wanted}</dependencies></project>"
    )


def closure_lines(project: str, scratch: Path) -> list[str]:
    """The lines of a lock for everything the project needs at run time. Downloads all."""
    (scratch / "pom.xml").write_text(project)
    listed = scratch / "list.txt"
    command = [
        *("mvn", "--batch-mode", "--quiet", "--file", f"{scratch}/pom.xml"),
        *(f"-Dmaven.repo.local={scratch / 'repository'}", "dependency:list", "-DincludeScope=runtime"),
        *("-DoutputAbsoluteArtifactFilename=true", f"-DoutputFile={listed}"),
    ]
    subprocess.run(command, check=True)
    return sorted(filter(None, map(_lock_line, listed.read_text().splitlines())))


def _lock_line(line: str) -> str | None:
    """From Maven's `group:name:extension[:classifier]:version:scope:/path/of/the/file -- module ...`."""
    parts = line.split(" -- ")[0].strip().split(":")
    if len(parts) not in (6, 7):
        return None
    group, name, extension, *classifier, version, _, file = parts
    path = Path(file)
    made = Artifact(group, name, version, "".join(classifier), extension, sha256_of(path), path.stat().st_size)
    return f"{made.coordinate} {made.sha256} {made.size_bytes}"


if __name__ == "__main__":
    lock_file = Path(sys.argv[1])
    text = lock_file.read_text()
    with tempfile.TemporaryDirectory() as downloads:
        lock_file.write_text(remade(text, lambda *_: closure_lines(pom(text), Path(downloads))))
