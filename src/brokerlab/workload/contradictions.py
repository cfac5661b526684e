"""Fields that are each sound and cannot stand together. Pairs of (path, message); no broker is asked here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from brokerlab.model.header import HEADER_BYTES
from brokerlab.workload.consumer_fields import Consumers, ConsumerSet, StartAfter, StartBacklog
from brokerlab.workload.fields import ALL, BurstArrival, Payload, Producers, RampArrival, Workload
from brokerlab.workload.objectives import NEED_CONSUMERS, parse_objective
from brokerlab.workload.resolved import security_contradictions
from brokerlab.workload.tree import Path

LANES_MOST = 65_535  # a header holds partitions in 16 bits
RATE_LEAST_PER_S = 0.001
ROLES = ("leader", "follower")  # what a fault may aim at besides a node's name

Found = Iterator[tuple[Path, str]]


def contradictions(workload: Workload, folder: FilePath) -> Found:
    """Everything impossible about a workload, whatever its broker. `folder`: where data files are looked for."""
    if workload.broker is not None and workload.brokers is not None:
        yield ("broker",), "cannot be given together with brokers: keep one of them"
    if workload.broker is None and workload.brokers is None:
        yield ("brokers",), "is missing: name a broker; `brokerlab list brokers` lists them"
    if workload.brokers is not None and len(set(workload.brokers)) < len(workload.brokers):
        yield ("brokers",), "names a broker twice"
    if workload.brokers is not None and ALL in workload.brokers and len(workload.brokers) > 1:
        yield ("brokers",), "all must stand alone: it means every broker that runs here"
    yield from security_contradictions(workload.security, folder)
    if workload.destinations.count * workload.destinations.partitions > LANES_MOST:
        yield ("destinations", "partitions"), f"must be at most {LANES_MOST:,} over all destinations together"
    yield from _of_producers(workload.producers)
    yield from _of_sizes(workload.producers)
    yield from _of_payload(workload.producers, folder)
    yield from _of_consumers(workload)
    yield from _of_faults(workload)
    has_no_consumers = workload.consumers is None or (
        isinstance(workload.consumers, Consumers) and workload.consumers.groups == 0
    )
    if workload.placement is not None and workload.placement.consumers and has_no_consumers:
        yield ("placement", "consumers"), "places consumers, and this workload has none"
    for i, text in enumerate(workload.objectives):
        measure = parse_objective(text).measure
        if has_no_consumers and measure in NEED_CONSUMERS:
            yield ("objectives", i), f"{measure} needs consumers, and this workload has none"


def _of_producers(producers: Producers) -> Found:
    at = ("producers",)
    if producers.rate is not None and producers.window is not None:
        yield (
            (*at, "window"),
            "cannot be given together with rate: a load is open loop (rate) or closed loop (window), not both",
        )
    if producers.rate is None and producers.window is None and producers.batch is None:
        yield (*at, "rate"), "is missing: give rate (open loop) or window (closed loop)"
    closed = "window" if producers.window is not None else "batch" if producers.batch is not None else None
    if closed is not None and producers.rate is None and producers.arrival is not None:
        yield (*at, "arrival"), f"has no meaning in a closed loop ({closed}): acknowledgements decide when to send"
    if producers.batch is not None:
        yield from _of_batch(producers)
    if producers.stripe is not None and producers.keys is not None:
        yield (*at, "stripe"), "has no meaning with keys: they choose the partition"
    if producers.messages is not None and producers.messages < producers.count:
        yield (*at, "messages"), f"must be at least one for each producer ({producers.count})"
    if producers.agents > producers.count:
        yield (*at, "agents"), f"must be at most the number of producers ({producers.count})"
    arrival = producers.arrival
    if producers.rate is not None and producers.rate / producers.count < RATE_LEAST_PER_S:
        may_be_silent = isinstance(arrival, BurstArrival | RampArrival)
        if not (may_be_silent and producers.rate == 0):
            yield (*at, "rate"), f"must be at least {RATE_LEAST_PER_S}/s for each producer"
    if isinstance(arrival, BurstArrival):
        burst = arrival.burst
        if burst.length <= 0 or burst.length > burst.every:
            yield (*at, "arrival", "burst", "length"), "must be above 0 and not longer than every"
        if burst.rate <= 0:
            yield (*at, "arrival", "burst", "rate"), "must be above 0"
    if isinstance(arrival, RampArrival) and arrival.ramp.to == 0 and producers.rate == 0:
        yield (*at, "arrival", "ramp", "to"), "must be above 0 where rate is 0: a ramp from 0 to 0 sends nothing"


def _of_batch(producers: Producers) -> Found:
    batch, at = producers.batch, ("producers", "batch")
    assert batch is not None
    for other in ("rate", "window"):
        if getattr(producers, other) is not None:
            yield at, f"cannot be given together with {other}: a batch is sent when the one before it is acknowledged"
    if batch.least > batch.most:
        yield (*at, "least"), f"must be at most the largest batch ({batch.most})"


def _of_sizes(producers: Producers) -> Found:
    message = f"must be at least {HEADER_BYTES} bytes: every message carries a header of that size"
    if isinstance(producers.message, int):
        if producers.message < HEADER_BYTES:
            yield ("producers", "message"), message
    else:
        for i, share in enumerate(producers.message or ()):
            if share.size < HEADER_BYTES:
                yield ("producers", "message", i, "size"), message


def _of_payload(producers: Producers, folder: FilePath) -> Found:
    payload, at = producers.payload, ("producers", "payload")
    if payload.kind in ("random", "sensors"):
        for field in ("file", "files"):
            if getattr(payload, field) is not None:
                yield (*at, field), f"is not used by kind {payload.kind}: set kind to lines or file"
    if payload.kind == "sensors" and payload.lines is None:
        yield (*at, "lines"), "is missing: how many recordings the generated file has"
    if payload.kind != "sensors" and payload.lines is not None:
        yield (*at, "lines"), "is only for kind sensors"
    if payload.kind != "random":
        if producers.message is not None:
            yield ("producers", "message"), f"cannot be chosen for payload kind {payload.kind}: the file decides it"
        if payload.compressibility is not None:
            yield (*at, "compressibility"), "is only for kind random"
    if payload.kind in ("file", "lines"):
        yield from _of_data_files(payload, producers.count, folder)
    if payload.read_in_ram is not None and payload.kind not in ("lines", "sensors"):
        yield (*at, "read_in_ram"), "is only for kinds lines and sensors"


def _of_data_files(payload: Payload, producers: int, folder: FilePath) -> Found:
    at = ("producers", "payload")
    if payload.file is not None and payload.files is not None:
        yield (*at, "files"), "cannot be given together with file: one file for all producers, or one for each"
    elif payload.file is None and payload.files is None:
        yield (*at, "file"), f"is missing: kind {payload.kind} sends a data file"
    if payload.file is not None and not (folder / payload.file).is_file():
        yield (*at, "file"), f"no such file: {folder / payload.file}"
    for i, file in enumerate(payload.files or ()):
        if not (folder / file).is_file():
            yield (*at, "files", i), f"no such file: {folder / file}"
    if payload.files == ():
        yield (*at, "files"), "must not be empty: name a file for each producer"
    if len(payload.files or ()) > producers:
        yield (*at, "files"), f"must be at most as many as there are producers ({producers})"


def _of_faults(workload: Workload) -> Found:
    measure_s = workload.phases.measure
    planned = [fault.planned() for fault in workload.faults]
    for i, fault in enumerate(workload.faults):
        if workload.producers.messages is not None:
            yield ("faults", i), "cannot be planned with producers.messages: measure may have ended before"
        if fault.at >= measure_s:
            yield ("faults", i, "at"), f"must be before the end of measure ({measure_s:g} s)"
        elif fault.restart_after is not None and planned[i].back_s >= measure_s:
            end = f"must be less than {measure_s - fault.at:g} s: it counts from `at`, and measure ends at {measure_s:g} s"
            yield ("faults", i, "restart_after"), end
        others = [of for j, of in enumerate(planned) if (of.at_s, j) < (fault.at, i) and of.back_s >= fault.at]
        if fault.kill not in ROLES and any(of.target == fault.kill for of in others):
            yield ("faults", i, "kill"), "names a node that is dead by then"


def _of_consumers(workload: Workload) -> Found:
    sets = workload.consumer_sets()
    names: set[str] = set()
    for path, consumers in sets:
        yield from _of_set(path, consumers, workload)
        if isinstance(consumers, ConsumerSet):
            if consumers.name in names:
                yield (*path, "name"), "names another set too: each needs a name of its own"
            names.add(consumers.name)


def _of_set(path: Path, consumers: Consumers, workload: Workload) -> Found:
    start = consumers.start
    if consumers.groups == 0 and isinstance(consumers, ConsumerSet):
        yield (*path, "groups"), "must be at least 1 in a list of sets: leave the set out instead"
    elif consumers.groups == 0 and start != "tailing":
        yield (*path, "start"), "a backlog needs a group to receive it: groups is 0"
    if consumers.page_cache == "dropped" and start == "tailing":
        yield (
            (*path, "page_cache"),
            "dropped is for a backlog: set start to after_backlog, {after: ...} or {backlog: ...}",
        )
    if consumers.agents_per_group > consumers.per_group:
        yield (*path, "agents_per_group"), f"must be at most the number of consumers in a group ({consumers.per_group})"
    if consumers.agents is not None and consumers.agents_per_group > 1:
        yield (
            (*path, "agents"),
            "cannot be given together with agents_per_group: groups share processes, or have their own",
        )
    elif consumers.agents is not None and consumers.agents > max(consumers.groups, 1):
        yield (
            (*path, "agents"),
            f"must be at most the number of groups ({consumers.groups}): use agents_per_group for more",
        )
    if isinstance(start, StartAfter) and start.after >= workload.phases.measure:
        yield (*path, "start", "after"), f"must be before the end of measure ({workload.phases.measure:g} s)"
    if isinstance(start, StartAfter | StartBacklog) and workload.faults:
        yield (*path, "start"), "cannot be later than tailing with faults: a group that is silent looks like an outage"
