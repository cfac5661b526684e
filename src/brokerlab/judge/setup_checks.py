"""What the workload asked of clusters and machine that a reader of the figures must know, and whether it held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from brokerlab.judge import limits
from brokerlab.judge.findings import Findings
from brokerlab.judge.reasons import RATES_AND_LATENCIES, Found, check
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.machine_plan import NOT_LOADED


@check(
    "kept_cluster", weight="note", cause="load", affects=(),
    rule="`cluster.kept`: executions ran on a cluster that an earlier execution had started",
)  # fmt: skip
def kept_cluster(f: Findings) -> Iterable[Found]:
    for cell in f.plan.cells:
        known = f.environment.cell(cell.cell).executions.values()
        kept = [e for e in known if (e.cluster_executions or 1) > 1]
        if kept:
            text = (
                f"{len(kept)} of {len(known)} executions ran on a cluster that an earlier one had started; what that left in"
                " caches, memory and files not yet deleted is part of the figures"
            )
            yield Found(cell.cell, text, float(len(kept)))


@check(
    "confined", weight="note", cause="load", affects=(),
    rule="`placement`, a share, a cap or a dropped page cache: what nodes and agents were given of the machine",
)  # fmt: skip
def confined(f: Findings) -> Iterable[Found]:
    for cell in f.plan.cells:
        if said := cell.machine.words():
            yield Found(
                cell.cell, f"simulated on one machine: {said}; whatever is not named here is shared all the same"
            )


def _means(f: Findings, metric: str) -> dict[tuple[ExecutionId, str], float]:
    """Of the measure phase, by execution and subject."""
    values: dict[tuple[ExecutionId, str], list[float]] = defaultdict(list)
    for execution, rows in f.measured("reading_per_second").items():
        for row in rows:
            if row["metric"] == metric:
                values[execution, row["subject"]].append(row["value"])
    return {key: sum(of) / len(of) for key, of in values.items()}


@check(
    "placement_left", weight="cannot tell", cause="machine", affects=RATES_AND_LATENCIES,
    rule="`threads_outside_placement` > 0 in the measure phase: a thread was allowed on other cores than `placement` says",
)  # fmt: skip
def placement_left(f: Findings) -> Iterable[Found]:
    for (execution, subject), mean in _means(f, "threads_outside_placement").items():
        if mean > 0:
            text = f"threads of {subject.partition(':')[2]} were allowed on cores that `placement` does not give them"
            yield Found(execution, text, mean, 0.0)


@check(
    "share_exceeded", weight="cannot tell", cause="machine", affects=RATES_AND_LATENCIES,
    rule=f"a node's mean `cpu_cores` in the measure phase is more than {limits.SHARE_SLACK:.0%} above its share of a"
         " processor (`cpu_limit_cores`), or the share was not read back",
)  # fmt: skip
def share_exceeded(f: Findings) -> Iterable[Found]:
    shares, used = _means(f, "cpu_limit_cores"), _means(f, "cpu_cores")
    for (execution, subject), share in shares.items():
        mean = used.get((execution, subject), 0.0)
        if mean > share * (1 + limits.SHARE_SLACK):
            text = f"{subject.partition(':')[2]} used {mean:.2f} processors; its share is {share:g}"
            yield Found(execution, text, mean, share)
    told = {execution for execution, _ in shares}
    for execution in f.measured("reading_per_second"):
        if f.cell(execution.cell).machine.limits_cpu and execution not in told:
            yield Found(execution, "the nodes' share of a processor was not read back")


@check(
    "memory_limit_missing", weight="cannot tell", cause="machine", affects=RATES_AND_LATENCIES,
    rule="a node's memory limit (`group_memory_limit_bytes`) was not read back, or differs from what was asked by more than"
         f" {limits.MEMORY_SLACK_BYTES // 1024} KiB",
)  # fmt: skip
def memory_limit_missing(f: Findings) -> Iterable[Found]:
    found: dict[ExecutionId, list[float]] = defaultdict(list)
    for (execution, _), limit in _means(f, "group_memory_limit_bytes").items():
        found[execution].append(limit)
    for execution in f.measured("reading_per_second"):
        asked = f.cell(execution.cell).machine.memory_limit_bytes_per_node
        if asked is None:
            continue
        if execution not in found:
            yield Found(execution, "the nodes' memory limit was not read back")
            continue
        others = [limit for limit in found[execution] if abs(limit - asked) > limits.MEMORY_SLACK_BYTES]
        if others:
            text = f"a node's memory limit is {max(others):,.0f} bytes, and {asked:,} were asked for"
            yield Found(execution, text, max(others), float(asked))


@check(
    "fsync_floor_missing", weight="cannot tell", cause="machine", affects=RATES_AND_LATENCIES,
    rule="`cluster.fsync_floor`: the library was not loaded into a node, or that was not read back",
)  # fmt: skip
def fsync_floor_missing(f: Findings) -> Iterable[Found]:
    for cell in f.plan.cells:
        known = f.environment.cell(cell.cell)
        if cell.machine.fsync_floor_ns is None or not known.executions:
            continue
        said = [of["fsync_floor"] for of in known.effective_settings.values() if "fsync_floor" in of]
        if not said or NOT_LOADED in said:
            yield Found(cell.cell, "the library that makes fsyncs slower was not loaded into every node")


@check(
    "link_exceeded", weight="cannot tell", cause="machine", affects=RATES_AND_LATENCIES,
    rule=f"a capped link carried more than {limits.LINK_SLACK:.0%} above its cap in the measure phase, or what it carried was"
         " not read",
)  # fmt: skip
def link_exceeded(f: Findings) -> Iterable[Found]:
    ways = [_means(f, f"link_{way}_bytes_per_s") for way in ("to_node", "from_node")]
    told = {execution for means in ways for execution, _ in means}
    for execution in f.measured("reading_per_second"):
        cap = f.cell(execution.cell).machine.link_bytes_per_s
        if cap is not None and execution not in told:
            yield Found(execution, "what the capped links carried was not read")
        for means in ways:
            for (of, subject), mean in means.items():
                if of == execution and cap is not None and mean > cap * (1 + limits.LINK_SLACK):
                    text = f"{subject.partition(':')[2]} carried {mean / 1e6:.1f} MB/s; its cap is {cap / 1e6:g}"
                    yield Found(execution, text, mean, float(cap))
