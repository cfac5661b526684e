"""collectd's configuration: the host's part of the table of metrics, once a second, to carbon."""

from __future__ import annotations

from pathlib import Path

from brokerlab.monitor.table import collectd_plugins

PREFIX = "collectd."
# What its plugins are asked for; those without a block here are taken as they are.
_PLUGIN_SETTINGS = {
    "cpu": "  ReportByCpu false\n  ValuesPercentage true\n",
    "df": '  MountPoint "/"\n  ReportInodes false\n',
    "disk": '  Disk "/^(loop|ram)/"\n  IgnoreSelected true\n',
}


def collectd_conf(root: Path, home: Path, host: str, carbon_port: int) -> str:
    """`root` is the private root of the packages, `home` where it works, `host` what its series are called."""
    plugins = collectd_plugins()
    loaded = "".join(f"LoadPlugin {name}\n" for name in (*plugins, "write_graphite"))
    blocks = "".join(
        f"<Plugin {name}>\n{_PLUGIN_SETTINGS[name]}</Plugin>\n" for name in plugins if name in _PLUGIN_SETTINGS
    )
    return f"""Hostname "{host}"
FQDNLookup false
BaseDir "{home}"
PIDFile "{home / "collectd.pid"}"
PluginDir "{root / "usr/lib/collectd"}"
TypesDB "{root / "usr/share/collectd/types.db"}"
Interval 1
Timeout 2
ReadThreads 2
WriteThreads 1
{loaded}{blocks}<Plugin write_graphite>
  <Node "carbon">
    Host "127.0.0.1"
    Port "{carbon_port}"
    Protocol "tcp"
    Prefix "{PREFIX}"
    StoreRates true
    AlwaysAppendDS false
    EscapeCharacter "_"
    LogSendErrors true
  </Node>
</Plugin>
"""


def command(root: Path, configuration: Path) -> list[str]:
    return [str(root / "usr/sbin/collectd"), "-f", "-C", str(configuration)]
