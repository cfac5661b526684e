"""The programs of the stacks: where they come from, and fetching them into the cache. Nothing of the system is changed."""

from __future__ import annotations

import ctypes.util
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from brokerlab.errors import InstallError, MachineError
from brokerlab.install.cache import Progress
from brokerlab.install.debian import DebianRelease, install_debian
from brokerlab.install.java import Java, need_java
from brokerlab.install.maven import install_artifacts, read_lock
from brokerlab.install.venv import install_venv
from brokerlab.monitor.stacks.graphite_files import WEB_ENVIRONMENT, settings_for_migration

_HERE = Path(__file__).parent
_COLLECTD = DebianRelease(("collectd-core", "libudev1"), _HERE / "collectd.lock", (5,))
_PROMETHEUS = DebianRelease(("prometheus", "prometheus-node-exporter"), _HERE / "prometheus.lock", (2, 3))
_JMX_MODULE = "jdk.naming.rmi"


@dataclass(frozen=True)
class GraphitePrograms:
    """What the Graphite stack is started from. `has_cairo`: graphite-web can draw; without it, it answers JSON and CSV."""

    collectd: Path  # its private root
    python: Path  # of the environment with carbon and graphite-web
    empty_database: Path  # graphite-web's tables, without rows
    jmxtrans: Path | None  # the jar; None where there is no JVM to poll
    java: Java | None
    has_cairo: bool
    versions: dict[str, str]


@dataclass(frozen=True)
class PrometheusPrograms:
    prometheus: Path
    promtool: Path
    node_exporter: Path
    jmx_agent: Path  # a jar for JVMs that are to be scraped
    versions: dict[str, str]


def graphite_programs(progress: Progress, *, with_jmx: bool) -> GraphitePrograms:
    """Everything, fetched where it is not here. jmxtrans and a Java only `with_jmx`. Raises InstallError, MachineError."""
    collectd = install_debian("collectd", _COLLECTD, _part(progress, 0.0, 0.3))
    environment = install_venv(
        "graphite",
        _HERE / "graphite.lock",
        _part(progress, 0.3, 0.8),
        build_env={"GRAPHITE_NO_PREFIX": "True"},  # else its files go to /opt
        finish=_make_database,
    )
    versions = {"collectd": collectd.version("collectd-core"), "graphite": "1.1.10"}
    jar = java = None
    if with_jmx:
        java = java_for_jmx(progress)
        (artifact,) = artifacts = read_lock(_HERE / "jmxtrans.lock")
        install_artifacts(artifacts, _part(progress, 0.8, 1.0))
        jar = artifact.path
        versions |= {"jmxtrans": artifact.version, "java": java.version}
    return GraphitePrograms(
        collectd=collectd.path,
        python=environment / "bin" / "python",
        empty_database=environment / "empty.db",
        jmxtrans=jar,
        java=java,
        has_cairo=ctypes.util.find_library("cairo") is not None,
        versions=versions,
    )


def prometheus_programs(progress: Progress) -> PrometheusPrograms:
    """Everything, fetched where it is not here. Raises InstallError."""
    root = install_debian("prometheus", _PROMETHEUS, _part(progress, 0.0, 0.9))
    (artifact,) = artifacts = read_lock(_HERE / "jmx_agent.lock")
    install_artifacts(artifacts, _part(progress, 0.9, 1.0))
    programs = root.path / "usr" / "bin"
    return PrometheusPrograms(
        prometheus=programs / "prometheus",
        promtool=programs / "promtool",
        node_exporter=programs / "prometheus-node-exporter",
        jmx_agent=artifact.path,
        versions={
            "prometheus": root.version("prometheus"),
            "node_exporter": root.version("prometheus-node-exporter"),
            "jmx_agent": artifact.version,
        },
    )


def java_for_jmx(progress: Progress) -> Java:
    """A Java that can be a client of remote JMX; the runtime that comes in a wheel cannot."""
    java = need_java(progress)
    done = subprocess.run([java.path, "--list-modules"], capture_output=True, text=True, check=False)
    if _JMX_MODULE not in done.stdout:
        raise MachineError(
            f"jmxtrans needs a Java with the module {_JMX_MODULE}, and {java.path} (from {java.source}) has none",
            hint="install a full Java 17 or later and set JAVA_HOME; without --jmx the stack needs no Java",
        )
    return java


def _part(progress: Progress, begin: float, end: float) -> Callable[[str, float], None]:
    return lambda what, share: progress(what, begin + (end - begin) * share)


def _make_database(environment: Path) -> None:
    """graphite-web's tables in a file beside the programs: made once, copied at every start."""
    settings = environment / "settings-for-migration"
    settings_for_migration(settings, environment / "empty.db")
    env = {**os.environ, **WEB_ENVIRONMENT, "PYTHONPATH": str(settings), "SECRET_KEY": "used by no server"}
    command = [str(environment / "bin" / "python"), "-m", "django", "migrate", "--run-syncdb", "-v", "0"]
    done = subprocess.run(command, env=env, cwd=settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise InstallError(f"graphite-web's database could not be made:\n{last}", hint="see docs/monitoring-stacks.md")
