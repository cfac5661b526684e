"""Makes the lock file of Pulsar's jars: `python -m brokerlab.brokers.pulsar.install`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from brokerlab.brokers.pulsar.broker import BROKER
from brokerlab.install.cache import sha256_of
from brokerlab.install.maven import Artifact

VERSION = BROKER.version
LOCK_FILE = Path(__file__).with_name("pulsar.lock")
ROOTS = (  # those without a version get the one that Pulsar's parent manages
    f"org.apache.pulsar:pulsar-broker:{VERSION}",
    # The bookies' figures: no dependency of the broker's, of the version of its other BookKeeper jars.
    "org.apache.bookkeeper.stats:prometheus-metrics-provider:4.17.3",
    "org.apache.logging.log4j:log4j-core",
    "org.apache.logging.log4j:log4j-slf4j2-impl",
)


def pom() -> str:
    """A project whose versions are those Pulsar's own parent manages."""

    def dependency(group: str, name: str, version: str = "", rest: str = "") -> str:
        rest = (f"<version>{version}</version>" if version else "") + rest
        return f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>{rest}</dependency>"

    managed = dependency("org.apache.pulsar", "pulsar", VERSION, "<type>pom</type><scope>import</scope>")
    wanted = "".join(dependency(*root.split(":")) for root in ROOTS)
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>lock</groupId><artifactId>lock</artifactId>"
        f"<version>1</version><dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>"
        f"<dependencies>{wanted}</dependencies></project>"
    )


def write_lock() -> None:
    """Let `mvn` compute the runtime closure of ROOTS and write the lock file anew.

    Not with jgo, which fetches the files: it does not know `${project.parent.version}`, which Pulsar's poms use.
    """
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "pom.xml").write_text(pom())
        listed, repository = Path(scratch) / "list.txt", Path(scratch) / "repository"
        command = [
            *("mvn", "--batch-mode", "--quiet", "--file", f"{scratch}/pom.xml", f"-Dmaven.repo.local={repository}"),
            *("dependency:list", "-DincludeScope=runtime", "-DoutputAbsoluteArtifactFilename=true"),
            f"-DoutputFile={listed}",
        ]
        subprocess.run(command, check=True)
        lines = sorted(filter(None, map(_lock_line, listed.read_text().splitlines())))
    head = f"# Pulsar {VERSION} (broker, bookie, ZooKeeper) with a log4j binding. How to make it anew: README.md"
    LOCK_FILE.write_text("\n".join([head, *lines]) + "\n")


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
    write_lock()
