"""A checked workload to cells: one for every broker and combination of swept values."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path as FilePath

from brokerlab.brokers.contract import Broker
from brokerlab.errors import Problem
from brokerlab.model.plan import (
    CellPlan,
    ConsumersPlan,
    Endpoint,
    KeysPlan,
    PayloadPlan,
    PhasesPlan,
    ProducersPlan,
    SchedulePlan,
    SizeShare,
)
from brokerlab.model.quantities import format_rate, parse_rate_per_s
from brokerlab.workload.fields import BurstArrival, Consumers, Producers, RampArrival, Workload
from brokerlab.workload.resolved import level, security
from brokerlab.workload.tree import SETTINGS, Path, Tree, parse_path

NOT_SWEPT = ("name", "question", "broker", "brokers", "sweep", "repeats", "retries", "objectives",
             "smallest_difference", "seed")  # fmt: skip
CELLS_MOST = 500
DEFAULT_MESSAGE_BYTES = 1024
NO_LIST = "must be a list of values under the path of a field, such as producers.rate: [10_000/s, 20_000/s]"


@dataclass(frozen=True)
class Combination:
    """One choice of swept values: the tree with them in place, and how they were written."""

    tree: Tree
    parameters: dict[Path, str]


def combinations(tree: Tree) -> tuple[list[Combination], list[Problem]]:
    """The tree once for every combination of the values under `sweep`, the last swept field changing fastest."""
    swept = tree.root.get("sweep")
    if not isinstance(swept, dict) or not swept:
        return [Combination(tree, {})], []
    problems: list[Problem] = []
    dimensions: list[list[tuple[str, Path, int]]] = []
    for text, values in swept.items():
        path, problem = _swept_path(tree, text, values)
        if problem is None:
            dimensions.append([(text, path, i) for i in range(len(values))])
        else:
            problems.append(problem)
    count = 1
    for dimension in dimensions:
        count *= len(dimension)
    if count > CELLS_MOST:
        problems.append(tree.problem(("sweep",), f"makes {count:,} combinations; at most {CELLS_MOST} are run"))
        dimensions = [dimension[:1] for dimension in dimensions]
    made = [_combined(tree, choice, problems) for choice in itertools.product(*dimensions)]
    return made, problems


def _swept_path(tree: Tree, text: str, values: object) -> tuple[Path, Problem | None]:
    at: Path = ("sweep", text)
    if not isinstance(values, list):
        return (), tree.problem(at, NO_LIST, with_value=True)
    if not values:
        return (), tree.problem(at, "has no values")
    try:
        path = parse_path(text)
    except ValueError as error:
        return (), tree.problem(at, str(error))
    if path[0] in NOT_SWEPT:
        why = "list them under brokers" if path[0] in ("broker", "brokers") else "it is the same for the whole run"
        return (), tree.problem(at, f"{path[0]} cannot be swept: {why}")
    return path, None


def _combined(tree: Tree, choice: tuple[tuple[str, Path, int], ...], problems: list[Problem]) -> Combination:
    made = tree.copied()
    parameters: dict[Path, str] = {}
    for text, path, i in choice:
        origin = tree.origin(("sweep", text, i))
        try:
            made.put(path, tree.root["sweep"][text][i], origin)
        except ValueError as error:
            problems.append(tree.problem(("sweep", text), str(error)))
        parameters[path] = origin.text
    return Combination(made, parameters)


def concerns(combination: Combination, broker: str) -> dict[Path, str]:
    """The swept values that matter to one broker: settings of another do not."""
    return {
        path: text
        for path, text in combination.parameters.items()
        if path[0] not in SETTINGS or len(path) < 2 or path[1] == broker
    }


def cell_plan(
    workload: Workload,
    *,
    cell: str,
    broker: Broker,
    parameters: dict[Path, str],
    folder: FilePath,
    endpoint: Endpoint | None,
) -> CellPlan:
    """The cell of one broker. Swept `strongest` and `weakest` become the level they mean: one level is one cell."""
    durability = level(workload, broker.capabilities)
    wanted = security(workload.security, folder, own_cluster=endpoint is None)
    if ("durability",) in parameters:
        parameters = parameters | {("durability",): durability.value}
    shown = {path: _shown(text) for path, text in parameters.items()}
    if ("security",) in shown:
        shown[("security",)] = wanted.words() if wanted is not None else "none"
    return CellPlan(
        cell=cell,
        label=", ".join([broker.name, *(f"{path[-1]} {text}" for path, text in shown.items())]),
        broker=broker.name,
        nodes=workload.cluster.nodes,
        durability=durability,
        security=wanted,
        destinations=workload.destinations.count,
        partitions=workload.destinations.partitions,
        producers=_producers_plan(workload.producers, folder),
        consumers=_consumers_plan(workload.consumers),
        phases=PhasesPlan(
            warm_up_s=workload.phases.warm_up,
            measure_s=workload.phases.measure,
            drain_limit_s=workload.phases.drain_limit,
        ),
        parameters={".".join(map(str, path)): text for path, text in parameters.items()},
        broker_settings=workload.broker_settings.get(broker.name, {}),
        client_settings=workload.client_settings.get(broker.name, {}),
        driver=workload.driver,
        keep_messages=workload.keep_messages or bool(workload.faults),  # outages are read from single messages
        faults=tuple(sorted((fault.planned() for fault in workload.faults), key=lambda fault: fault.at_s)),
        endpoint=endpoint.addresses if endpoint is not None else (),
        endpoint_options=endpoint.options if endpoint is not None else {},
    )


def _shown(text: str) -> str:
    try:
        return format_rate(parse_rate_per_s(text))
    except ValueError:
        return text


def _producers_plan(producers: Producers, folder: FilePath) -> ProducersPlan:
    payload = producers.payload
    return ProducersPlan(
        count=producers.count,
        agents=producers.agents,
        schedule=_schedule_plan(producers),
        payload=PayloadPlan(
            kind=payload.kind,
            sizes=_sizes(producers) if payload.kind == "random" else (),
            compressibility=payload.compressibility or 0.0,
            path=None if payload.file is None else str((folder / payload.file).absolute()),
            read_in_ram=payload.read_in_ram is not False,
        ),
        keys=None
        if producers.keys is None
        else KeysPlan(count=producers.keys.count, distribution=producers.keys.distribution),
        send_timeout_s=producers.send_timeout,
    )


def _sizes(producers: Producers) -> tuple[SizeShare, ...]:
    message = producers.message
    if message is None or isinstance(message, int):
        return (SizeShare(message_bytes=message or DEFAULT_MESSAGE_BYTES, weight=1.0),)
    return tuple(SizeShare(message_bytes=share.size, weight=share.weight) for share in message)


def _schedule_plan(producers: Producers) -> SchedulePlan:
    """Rates in the file are totals; a producer's schedule has its share."""
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
    return ConsumersPlan(
        groups=consumers.groups,
        per_group=consumers.per_group,
        agents_per_group=consumers.agents_per_group,
        start=consumers.start,
        acknowledge=consumers.acknowledge,
    )
