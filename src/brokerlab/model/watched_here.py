"""The rows of the table of metrics that belong to no broker: host, processes, JVMs, and the load of a run."""

from __future__ import annotations

from brokerlab.model.watched import Asked, Bean, Kernel, Scope, Source, WatchedMetric, by_metric

Attributes = tuple[tuple[str, str], ...]


def _rows(scope: Scope, *rows: tuple[str, str, Source, str] | tuple[str, str, Source, str, str, Attributes]) -> dict[str, WatchedMetric]:  # fmt: skip
    """metric, unit, source, meaning; then OpenTelemetry's name and attributes where it has one."""
    return by_metric(WatchedMetric(r[0], r[1], r[2], r[3], scope, *(r[4:] if len(r) > 4 else ())) for r in rows)


_STAT = Kernel("/proc/stat", "cpu")
_BLOCK = Kernel("/sys/dev/block/*/stat", "disk")
_OF_CPU = "cores busy with it since the reading before, all processors together"
HOST = _rows(
    "host",
    ("cpu_user_cores", "cores", _STAT, f"user code: {_OF_CPU}"),
    ("cpu_system_cores", "cores", _STAT, f"kernel and interrupts: {_OF_CPU}"),
    ("cpu_idle_cores", "cores", _STAT, "cores idle"),
    ("cpu_iowait_cores", "cores", _STAT, "cores idle while a task waited for a disk"),
    ("cpu_steal_cores", "cores", _STAT, "cores that the hypervisor gave to others"),
    ("cpu_busy_cores", "cores", _STAT, "cores neither idle nor stolen"),
    ("cpu_foreign_cores", "cores", Kernel("/proc/stat, less the scheduler clocks of the known processes"), "busy cores that no watched process explains"),
    ("load1", "1", Kernel("/proc/loadavg", "load"), "load average of one minute"),
    ("pressure_cpu_some_avg10_percent", "%", Kernel("/proc/pressure/cpu"), "share of the last 10 s in which a task waited for a processor"),
    ("pressure_io_some_avg10_percent", "%", Kernel("/proc/pressure/io"), "share of the last 10 s in which a task waited for a disk"),
    ("pressure_memory_some_avg10_percent", "%", Kernel("/proc/pressure/memory"), "share of the last 10 s in which a task waited for memory"),
    ("memory_available_bytes", "B", Kernel("/proc/meminfo", "memory"), "memory that programs can still have", "system.linux.memory.available", ()),
    ("memory_used_bytes", "B", Kernel("/proc/meminfo", "memory"), "memory that is not available", "system.memory.usage", (("system.memory.state", "used"),)),
    ("disk_free_bytes", "B", Kernel("statvfs", "df"), "free space of the file system that is watched", "system.filesystem.usage", (("system.filesystem.state", "free"),)),
    ("disk_read_bytes_total", "B", _BLOCK, "bytes read from its disk", "system.disk.io", (("disk.io.direction", "read"),)),
    ("disk_write_bytes_total", "B", _BLOCK, "bytes written to its disk", "system.disk.io", (("disk.io.direction", "write"),)),
    ("disk_busy_ms_total", "ms", _BLOCK, "time in which its disk had work", "system.disk.io_time", ()),
    ("network_loopback_bytes_total", "B", Kernel("/proc/net/dev", "interface"), "bytes over the loopback interface, each once"),
    ("network_receive_bytes_total", "B", Kernel("/proc/net/dev", "interface"), "bytes received over all interfaces but loopback", "system.network.io", (("network.io.direction", "receive"),)),
    ("network_transmit_bytes_total", "B", Kernel("/proc/net/dev", "interface"), "bytes sent over all interfaces but loopback", "system.network.io", (("network.io.direction", "transmit"),)),
)  # fmt: skip

_PROCESS_STAT = Kernel("/proc/PID/stat", "processes")
_PROCESS_IO = Kernel("/proc/PID/io", "processes")
PROCESS = _rows(
    "process",
    ("cpu_cores", "cores", Kernel("scheduler clock of the process"), "cores used, with the processes it started"),
    ("rss_bytes", "B", _PROCESS_STAT, "resident memory, with the processes it started", "process.memory.usage", ()),
    ("threads", "1", _PROCESS_STAT, "threads", "process.thread.count", ()),
    ("open_files", "1", Kernel("/proc/PID/fd", "processes"), "open files and sockets", "process.unix.file_descriptor.count", ()),
    ("read_bytes_total", "B", _PROCESS_IO, "bytes it caused to be read from a disk", "process.disk.io", (("disk.io.direction", "read"),)),
    ("write_bytes_total", "B", _PROCESS_IO, "bytes it caused to be written to a disk", "process.disk.io", (("disk.io.direction", "write"),)),
    ("threads_outside_placement", "1", Kernel("sched_getaffinity of every thread"), "threads that may run beside the cores they were given"),
    ("cpu_throttled_ms_total", "ms", Kernel("cpu.stat of its control group"), "time its threads waited for their share of a processor"),
    ("cpu_limit_cores", "cores", Kernel("cpu.max of its control group"), "its share of a processor"),
    ("group_memory_bytes", "B", Kernel("memory.current of its control group"), "memory held within its limit, cached files included"),
    ("group_memory_limit_bytes", "B", Kernel("memory.max of its control group"), "its memory limit"),
    ("link_to_node_bytes_total", "B", Asked("the process of a capped link"), "bytes that the link carried to the node"),
    ("link_from_node_bytes_total", "B", Asked("the process of a capped link"), "bytes that the link carried from the node"),
)  # fmt: skip

CLUSTER = _rows(
    "cluster", ("stored_bytes", "B", Kernel("stat of every file"), "bytes in the data directories of all nodes")
)

_COLLECTORS = "java.lang:name=*,type=GarbageCollector"
_HEAP: Attributes = (("jvm.memory.type", "heap"),)
_MEMORY = "java.lang:type=Memory"
JVM = _rows(
    "jvm",
    ("heap_used_bytes", "B", Bean(_MEMORY, "HeapMemoryUsage", "used"), "heap in use", "jvm.memory.used", _HEAP),
    ("heap_committed_bytes", "B", Bean(_MEMORY, "HeapMemoryUsage", "committed"), "heap that the JVM holds", "jvm.memory.committed", _HEAP),
    ("threads", "1", Bean("java.lang:type=Threading", "ThreadCount"), "live threads", "jvm.thread.count", ()),
    ("cpu_seconds_total", "s", Bean("java.lang:type=OperatingSystem", "ProcessCpuTime", scale=1e-9), "CPU time of the JVM", "jvm.cpu.time", ()),
    ("gc_count_total", "1", Bean(_COLLECTORS, "CollectionCount"), "garbage collections, all collectors"),
    ("gc_time_seconds_total", "s", Bean(_COLLECTORS, "CollectionTime", scale=1e-3), "time spent collecting garbage, all collectors"),
)  # fmt: skip

# What a broker tells of destinations and groups, whichever broker it is; its folder says what is asked (kit.lag.lag_rows).
_TOLD = Asked("what a broker is asked: see there")
DESTINATION = _rows(
    "destination",
    ("messages_in_total", "1", _TOLD, "messages that the destination has taken in"),
    ("messages", "1", _TOLD, "messages that the destination holds"),
)  # fmt: skip
GROUP = _rows(
    "group",
    ("lag_messages", "1", _TOLD, "messages of a partition that a group has not acknowledged", "brokerlab.consumer.lag.messages", ()),
    ("lag_entries", "1", _TOLD, "entries of a partition that a group has not acknowledged, where a broker counts batches of messages", "brokerlab.consumer.lag.entries", ()),
)  # fmt: skip

_AGENTS = Asked("our agents")
_PUBLISH: Attributes = (("messaging.operation.name", "publish"),)
LOAD = _rows(
    "load",
    ("sent_messages_total", "1", _AGENTS, "messages handed to clients", "messaging.client.sent.messages", ()),
    ("received_messages_total", "1", _AGENTS, "messages received, duplicates included", "messaging.client.consumed.messages", ()),
    ("acknowledged_messages_total", "1", _AGENTS, "messages acknowledged by the broker"),
    ("rejected_messages_total", "1", _AGENTS, "messages certainly not written"),
    ("unknown_messages_total", "1", _AGENTS, "messages about which nothing is known"),
    ("redelivered_messages_total", "1", _AGENTS, "messages that the broker marked as delivered again"),
    ("corrupted_messages_total", "1", _AGENTS, "messages with a wrong checksum or length"),
    ("unexpected_messages_total", "1", _AGENTS, "messages of another run, or of no run"),
    ("sent_bytes_total", "B", _AGENTS, "payload bytes sent"),
    ("received_bytes_total", "B", _AGENTS, "payload bytes received"),
    ("behind_messages", "1", _AGENTS, "messages due but not yet sent"),
    ("in_flight_messages", "1", _AGENTS, "messages sent but not settled"),
    ("publish_latency", "s", _AGENTS, "time acknowledged minus time scheduled", "messaging.client.operation.duration", _PUBLISH),
    ("end_to_end_latency", "s", _AGENTS, "time received minus time scheduled", "brokerlab.end_to_end.duration", ()),
    ("send_delay", "s", _AGENTS, "time sent minus time scheduled: our own lateness", "brokerlab.intended_send.delay", ()),
)  # fmt: skip
HISTOGRAMS = ("publish_latency", "end_to_end_latency", "send_delay")  # of LOAD: told as buckets
