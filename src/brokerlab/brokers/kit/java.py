"""What servers in Java have in common: their command, and files that they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

NOT_OURS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")  # of the user's shell: no part of what was asked


def java_command(
    java: Path, jars: Iterable[Path], home: Path, options: Sequence[str], main: Sequence[str]
) -> list[str]:
    """Runs `main`, a class and its arguments, in the foreground, with the files of `write_java_files`."""
    return [
        str(java),
        *("-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData", "-Djava.awt.headless=true"),
        "-Djava.net.preferIPv4Stack=true",
        f"-Djava.io.tmpdir={home / 'tmp'}",
        f"-Dlog4j2.configurationFile={home / 'log4j2.properties'}",
        *options,
        *("-cp", ":".join(map(str, jars)), *main),
    ]


def write_java_files(home: Path, silent: Sequence[str] = ()) -> None:
    """A place for temporary files; and what is logged, but by `silent` loggers, goes to standard output, which the
    process's log file receives."""
    quiet = "".join(f"logger.silent{i}.name={name}\nlogger.silent{i}.level=OFF\n" for i, name in enumerate(silent))
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    (home / "log4j2.properties").write_text(
        "appender.out.type=Console\nappender.out.name=out\nappender.out.layout.type=PatternLayout\n"
        "appender.out.layout.pattern=%d{yyyy-MM-dd HH:mm:ss.SSS} %-5p %c{1}: %m%n\n"
        f"rootLogger.level=INFO\nrootLogger.appenderRef.out.ref=out\n{quiet}"
    )


def remote_jmx_options(port: int) -> list[str]:
    """The JVM's own JMX server, on loopback only, without a login: any user of this machine can then drive the JVM."""
    name = "com.sun.management.jmxremote"
    return [
        *(f"-D{name}.port={port}", f"-D{name}.rmi.port={port}", f"-D{name}.host=127.0.0.1"),
        *(f"-D{name}.authenticate=false", f"-D{name}.ssl=false", "-Djava.rmi.server.hostname=127.0.0.1"),
    ]


def properties(settings: Mapping[str, str]) -> str:
    """A .properties file, which is Latin-1 with backslash escapes."""
    return "".join(f"{name}={property_value(value)}\n" for name, value in settings.items())


def property_value(text: str) -> str:
    return "".join(c if "!" <= c <= "~" else _unicode(c) for c in text.replace("\\", "\\\\"))


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
