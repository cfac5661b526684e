"""`jvm.options`, a broker setting of ours for servers in Java: options of every node's JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from brokerlab.brokers.kit.setting_checks import looks_like

JVM_SETTING = "jvm.options"
JVM_OPTIONS = looks_like(r"-[XD]\S+( -[XD]\S+)*", "options that begin with -X or -D, with a space between two")


def own_options(broker_settings: Mapping[str, str]) -> list[str]:
    return broker_settings.get(JVM_SETTING, "").split()


def with_own(ours: Sequence[str], own: Sequence[str]) -> list[str]:
    """Our options, then the user's. A heap and a collector of theirs take the place of ours: Java refuses a largest heap
    below the first one, and two collectors."""
    heap = any(o.startswith("-Xmx") for o in own)
    collector = any(_is_collector(o) for o in own)
    kept = [o for o in ours if not (heap and o.startswith(("-Xms", "-Xmx"))) and not (collector and _is_collector(o))]
    return [*kept, *own]


def _is_collector(option: str) -> bool:
    return option.startswith("-XX:+Use") and option.endswith("GC")
