"""The one Spark session of a command. Settings that differ from Spark's default stand here and, where they depend on the
place that Spark runs in, in `profiles`, each with its reason."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from brokerlab.errors import MachineError
from brokerlab.home import cache_directory
from brokerlab.interrupts import signals_interrupt
from brokerlab.pipeline.profiles import SparkSettings, address_towards, spark_settings
from brokerlab.pipeline.scratch import scratch_directory
from brokerlab.pipeline.shipping import package_zip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JVM_END_LIMIT_S = 60.0

SETTINGS = {
    "spark.ui.enabled": "false",  # not used, and it costs start-up time and a port
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",  # an overflow is an error, not a wrong number
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.sql.files.openCostInBytes": "65536",  # segments are small and many; at 4 MiB each, 8 would make a task
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # listing is done; no job for it
    "spark.sql.execution.arrow.maxRecordsPerBatch": "262144",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else every column expression records a stack trace
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.artifact.isolation.enabled": "false",
}

# C1 and the serial collector start faster; the jobs are too short for the optimising compiler to pay.
# C1 alone would have 48 MB for compiled code: from the fourth analysis in a session on it was full.
JVM_FLAGS = (
    "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC", "-Xshare:auto", "-Xlog:disable",
    "-Xlog:all=off",
)  # fmt: skip

_LOG4J = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %p %c{1}: %m%n
"""


@contextmanager
def spark_session(java_home: Path | None = None, settings: SparkSettings | None = None) -> Iterator[SparkSession]:
    """A session for the length of a block. `java_home` is where bin/java lies; None leaves the search to Spark.
    Without `settings` those of the environment are taken.

    What the JVM itself says goes to a file that lives as long as the session, not to the user's terminal. A process
    has one session: within a block that already runs, this gives the same one and leaves it running.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    chosen = settings or spark_settings()
    with (
        signals_interrupt() as interrupted,
        scratch_directory() as scratch,
        _environment(java_home, chosen),
    ):
        archive = _ClassArchive.of(java_home)
        others = _children()
        session = None
        try:
            session = _start(scratch, archive, chosen)
            yield session
        except BaseException as e:
            if not interrupted.is_set() and not isinstance(e, KeyboardInterrupt):
                raise
            # Stopping in order would wait for the query under way, and a JVM that is starting would write to `scratch` later.
            for jvm in _children() - others:
                jvm.kill()
                jvm.wait()
            raise KeyboardInterrupt from None  # Spark's clean-up on the way may have failed and hidden it
        finally:
            if session is not None:
                _stop(session, archive)


def session_is_running() -> bool:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None


def _children() -> set[psutil.Process]:
    return set(psutil.Process().children())


def _start(scratch: Path, archive: _ClassArchive, settings: SparkSettings) -> SparkSession:
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what matters of a broken connection is raised
    logging.getLogger().addHandler(logging.NullHandler())  # and py4j tells the root logger of Ctrl-C, with a traceback
    (scratch / "log4j2.properties").write_text(_LOG4J)
    flags = [*JVM_FLAGS, f"-Dlog4j2.configurationFile={scratch / 'log4j2.properties'}", *archive.flags()]
    builder = (
        SparkSession.builder.appName("brokerlab")
        .master(settings.master)
        .config("spark.driver.extraJavaOptions", " ".join(flags))
        .config("spark.local.dir", str(scratch))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    )
    for name, value in {**settings.values(), **SETTINGS}.items():
        builder = builder.config(name, value)
    said = scratch / "jvm.log"
    try:
        with _stderr_to(said), _own_interrupts():
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
            if settings.ships_code:
                session.sparkContext.addPyFile(str(package_zip(scratch)))
    except Exception as e:
        lines = said.read_text(errors="replace").strip().splitlines() or [str(e)]
        raise MachineError(
            "Spark did not start: " + " | ".join(lines[-3:]), hint="brokerlab doctor checks Java and memory"
        ) from e
    return session


def _stop(session: SparkSession, archive: _ClassArchive) -> None:
    """Stop Spark and end its JVM, so that the next session in this process gets its own flags and Java.

    After Ctrl-C connections to the JVM may be broken; it ends all the same, when its standard input does.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    with suppress(Py4JError, OSError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark's word on a JVM that is gone
        session.stop()
    gateway = SparkContext._gateway
    if gateway is None:
        return
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()  # the JVM ends when its standard input does
    if not archive.is_being_made():
        process.kill()  # the session is stopped, and what is left on the way out takes half a second
    try:
        process.wait(timeout=JVM_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    archive.keep(made=process.returncode == 0)


@contextmanager
def _stderr_to(file: Path) -> Iterator[None]:
    """Whatever is started within the block has `file` as its standard error."""
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with file.open("ab") as f:
            os.dup2(f.fileno(), 2)
            try:
                yield
            finally:
                sys.stderr.flush()
                os.dup2(saved, 2)
    finally:
        os.close(saved)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Ctrl-C stays ours. Spark's handler asks the JVM to cancel its jobs, from wherever Python happens to be: seen were
    tracebacks, and queries that waited for their answer for ever. Stopping the session ends them as well."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(java_home: Path | None, settings: SparkSettings) -> Iterator[None]:
    """Variables that Spark's launcher reads, put back afterwards."""
    wanted = {
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
        "PYSPARK_PYTHON": settings.python(),
    }
    address = address_towards(settings.master)
    if address is not None:
        wanted["SPARK_LOCAL_IP"] = address
    if java_home is not None:
        wanted["JAVA_HOME"] = str(java_home)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@dataclass(frozen=True)
class _ClassArchive:
    """Java's archive of loaded classes (AppCDS), which halves start-up: made once per Java and Spark, then reused.

    The first session writes it as its JVM ends, under a name of its own, so a JVM that is killed leaves no broken
    archive behind. Java ignores an archive that does not fit (-Xshare:auto): it can cost time, never correctness.
    """

    file: Path | None
    temporary: Path | None

    @classmethod
    def of(cls, java_home: Path | None) -> _ClassArchive:
        import pyspark

        java = java_program(java_home)
        directory = cache_directory() / "spark"
        if java is None or not java.exists():
            return cls(None, None)
        described = f"{java.resolve()}:{java.stat().st_mtime_ns}:{pyspark.__file__}"
        key = hashlib.sha256(described.encode()).hexdigest()[:12]
        file = directory / f"pyspark-{pyspark.__version__}-{key}.jsa"
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            return cls(None, None)
        return cls(file, file.with_name(f".{file.name}.{os.getpid()}"))

    def flags(self) -> list[str]:
        if self.file is None:
            return []
        return [
            f"-XX:SharedArchiveFile={self.file}" if self.file.exists() else f"-XX:ArchiveClassesAtExit={self.temporary}"
        ]

    def is_being_made(self) -> bool:
        """The JVM writes it as it ends."""
        return any(flag.startswith("-XX:ArchiveClassesAtExit") for flag in self.flags())

    def keep(self, *, made: bool) -> None:
        """Give the archive its name if the JVM ended well; else drop it, and the next session tries again."""
        if self.temporary is None or self.file is None or not self.temporary.exists():
            return
        if made:
            self.temporary.replace(self.file)
        else:
            self.temporary.unlink(missing_ok=True)


def java_program(java_home: Path | None) -> Path | None:
    """The `java` Spark's launcher will run: of `java_home`, of JAVA_HOME, or the first on PATH."""
    home = java_home or (Path(os.environ["JAVA_HOME"]) if os.environ.get("JAVA_HOME") else None)
    if home is not None:
        return home / "bin" / "java"
    found = shutil.which("java")
    return Path(found) if found else None
