"""A checked workload to the cell of one broker."""

from __future__ import annotations

from pathlib import Path as FilePath

from brokerlab.brokers.contract import Broker
from brokerlab.model.plan import (
    DEFAULT_STRIPE,
    CellPlan,
    ConsumersPlan,
    Endpoint,
    KeysPlan,
    MachinePlan,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    SchedulePlan,
    SizeShare,
)
from brokerlab.model.quantities import format_rate, parse_rate_per_s
from brokerlab.workload.consumer_fields import Consumers, ConsumerSet, StartAfter, StartBacklog
from brokerlab.workload.fields import BurstArrival, Placement, Producers, RampArrival, Workload
from brokerlab.workload.resolved import level, security
from brokerlab.workload.sensors import sensor_file
from brokerlab.workload.tree import Path

DEFAULT_MESSAGE_BYTES = 1024


def cell_plan(
    workload: Workload,
    *,
    cell: str,
    broker: Broker,
    parameters: dict[Path, str],
    name: str | None = None,
    folder: FilePath,
    endpoint: Endpoint | None,
) -> CellPlan:
    """The cell of one broker, labelled by what was swept or by the `name` it was given. Swept `strongest` and `weakest`
    become the level they mean: one level is one cell."""
    durability = level(workload, broker.capabilities)
    wanted = security(workload.security, folder, own_cluster=endpoint is None)
    if ("durability",) in parameters:
        parameters = parameters | {("durability",): durability.value}
    shown = {path: _shown(text) for path, text in parameters.items()}
    sets = tuple(_consumers_plan(of) for _, of in workload.consumer_sets()) or (_consumers_plan(None),)
    if ("security",) in shown:
        shown[("security",)] = wanted.words() if wanted is not None else "none"
    return CellPlan(
        cell=cell,
        label=name or ", ".join([broker.name, *(f"{path[-1]} {text}" for path, text in shown.items())]),
        broker=broker.name,
        nodes=workload.cluster.nodes,
        durability=durability,
        security=wanted,
        destinations=workload.destinations.count,
        partitions=workload.destinations.partitions,
        producers=_producers_plan(workload.producers, folder),
        consumers=sets[0],
        more_consumers=sets[1:],
        phases=PhasesPlan(
            warm_up_s=workload.phases.warm_up,
            measure_s=workload.phases.measure,
            drain_limit_s=workload.phases.drain_limit,
            first_warm_up_s=workload.phases.first_warm_up,
        ),
        parameters={".".join(map(str, path)): text for path, text in parameters.items()},
        broker_settings=workload.broker_settings.get(broker.name, {}),
        client_settings=workload.client_settings.get(broker.name, {}),
        driver=workload.driver,
        keep_messages=workload.keep_messages or bool(workload.faults),  # outages are read from single messages
        faults=tuple(sorted((fault.planned() for fault in workload.faults), key=lambda fault: fault.at_s)),
        endpoint=endpoint.addresses if endpoint is not None else (),
        endpoint_options=endpoint.options if endpoint is not None else {},
        kept_cluster=workload.cluster.kept,
        machine=_machine_plan(workload),
    )


def _machine_plan(workload: Workload) -> MachinePlan:
    place = workload.placement or Placement.model_validate({})
    return MachinePlan(
        node_cores=_cores(place.nodes),
        producer_cores=_cores(place.producers),
        consumer_cores=_cores(place.consumers),
        cpu_share_per_node=workload.cluster.cpu_share_per_node,
        disk_write_bytes_per_s=workload.cluster.disk_write_cap,
        fsync_floor_ns=round(floor_s * 1e9) if (floor_s := workload.cluster.fsync_floor) is not None else None,
        memory_limit_bytes_per_node=workload.cluster.memory_limit_per_node,
        link_bytes_per_s=workload.cluster.link_cap,
        drop_page_cache=any(of.page_cache == "dropped" for _, of in workload.consumer_sets()),
    )


def _cores(given: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple(sorted(set(given or ())))


def _shown(text: str) -> str:
    try:
        return format_rate(parse_rate_per_s(text))
    except ValueError:
        return text


def _producers_plan(producers: Producers, folder: FilePath) -> ProducersPlan:
    return ProducersPlan(
        count=producers.count,
        agents=producers.agents,
        schedule=_schedule_plan(producers),
        payload=_payload_plan(producers, folder),
        keys=None
        if producers.keys is None
        else KeysPlan(count=producers.keys.count, distribution=producers.keys.distribution),
        send_timeout_s=producers.send_timeout,
        messages=producers.messages,
        stripe=producers.stripe or DEFAULT_STRIPE,
    )


def _payload_plan(producers: Producers, folder: FilePath) -> PayloadPlan:
    payload = producers.payload
    read_in_ram = payload.read_in_ram is not False
    if payload.kind == "sensors":
        lines = payload.lines or 0  # contradictions.py asks for it
        return PayloadPlan(kind="lines", path=str(sensor_file(lines)), sensor_lines=lines, read_in_ram=read_in_ram)
    return PayloadPlan(
        kind=payload.kind,
        sizes=_sizes(producers) if payload.kind == "random" else (),
        compressibility=payload.compressibility or 0.0,
        path=None if payload.file is None else str((folder / payload.file).absolute()),
        paths=tuple(str((folder / file).absolute()) for file in payload.files or ()),
        read_in_ram=read_in_ram,
    )


def _sizes(producers: Producers) -> tuple[SizeShare, ...]:
    message = producers.message
    if message is None or isinstance(message, int):
        return (SizeShare(message_bytes=message or DEFAULT_MESSAGE_BYTES, weight=1.0),)
    return tuple(SizeShare(message_bytes=share.size, weight=share.weight) for share in message)


def _schedule_plan(producers: Producers) -> SchedulePlan:
    """Rates in the file are totals; a producer's schedule has its share."""
    if producers.batch is not None:
        return SchedulePlan(arrival="closed", window=producers.batch.most, batch_least=producers.batch.least)
    if producers.rate is None:
        return SchedulePlan(arrival="closed", window=producers.window)
    share = 1 / producers.count
    rate_per_s = producers.rate / producers.count
    arrival = producers.arrival
    if isinstance(arrival, BurstArrival):
        return SchedulePlan(
            arrival="burst",
            rate_per_s=rate_per_s,
            burst_rate_per_s=arrival.burst.rate * share,
            burst_s=arrival.burst.length,
            burst_every_s=arrival.burst.every,
        )
    if isinstance(arrival, RampArrival):
        return SchedulePlan(arrival="ramp", rate_per_s=rate_per_s, ramp_to_rate_per_s=arrival.ramp.to * share)
    return SchedulePlan(arrival=arrival or "uniform", rate_per_s=rate_per_s)


def _consumers_plan(consumers: Consumers | None) -> ConsumersPlan:
    if consumers is None:
        return ConsumersPlan(groups=0, per_group=1, agents_per_group=1)
    start, named = consumers.start, isinstance(consumers, ConsumerSet)
    return ConsumersPlan(
        name=consumers.name if isinstance(consumers, ConsumerSet) else "",
        groups=consumers.groups,
        per_group=consumers.per_group,
        agents_per_group=consumers.agents_per_group,
        agents=consumers.agents,
        start="after" if isinstance(start, StartAfter) else "backlog" if isinstance(start, StartBacklog) else start,
        start_after_s=start.after if isinstance(start, StartAfter) else None,
        start_backlog_bytes=start.backlog if isinstance(start, StartBacklog) else None,
        acknowledge=consumers.acknowledge,
        receive_most=consumers.receive_most,
        drop_page_cache=named and consumers.page_cache == "dropped",  # of a single set MachinePlan says it
    )
