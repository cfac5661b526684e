"""What servers in Java have in common."""

from __future__ import annotations

NOT_OURS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")  # of the user's shell: no part of what was asked


def log4j_properties() -> str:
    """Everything to standard output, which the process's log file receives."""
    return (
        "appender.out.type=Console\nappender.out.name=out\nappender.out.layout.type=PatternLayout\n"
        "appender.out.layout.pattern=%d{yyyy-MM-dd HH:mm:ss.SSS} %-5p %c{1}: %m%n\n"
        "rootLogger.level=INFO\nrootLogger.appenderRef.out.ref=out\n"
    )
