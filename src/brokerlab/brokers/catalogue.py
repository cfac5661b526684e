"""docs/brokers.md and the table in README.md, from the brokers' own declarations, their READMEs and recorded runs, so that
they cannot be out of date.

Run as `python -m brokerlab.brokers.catalogue docs README.md`. The recorded runs (docs/data/kill-node.json) are written
by `tools/record_kill_node.py`; without a record the page says so.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brokerlab.brokers.contract import Broker
from brokerlab.brokers.registry import BROKERS, broker_named, folder_of

Row = Mapping[str, Any]
FOLDER = Path(__file__).parent
_SOURCE = tuple(
    re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for pattern in (
        r"^\| (?:where it )?comes from \| (?P<text>.+?) \|$",
        r"^\*\*where it comes from\.?\*\*:? (?P<text>.+?\.)(?:\s|$)",
        r"^#+ where it comes from\s*\n+(?P<text>(?:[^\n]+\n)+?[^\n]*?\.)(?:\s|$)",
    )
)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")

TABLE_BEGINS, TABLE_ENDS = "<!-- brokers: written by `make docs` -->", "<!-- end of brokers -->"

_HEAD = """# Brokers

Made from the declarations of the brokers, their READMEs and recorded runs; do not edit (`make docs` writes it).
`brokerlab list brokers` shows which of them run on this machine, and why others do not.

Levels: L1 replicated and fsynced before the acknowledgement, L2 replicated, L3 fsynced on one node, L4 neither. They are
computed from settings read back from the broker, not from what was asked for. *Nodes*: how many can be started here;
*endpoint*: none, only a broker that you run can be used. Levels of other numbers of nodes need such a broker too. *Lose a
node*: numbers of nodes for which `faults: [{kill: ...}]` is possible for good. *Start it again*: whether a killed node
can be started again (`restart_after`), so that a single one can be killed too.
"""

_OPTIONS = """## Options of an endpoint

What `--endpoint BROKER.OPTION=VALUE` can say of a broker that you run, besides its addresses (`--endpoint BROKER=HOST:PORT`).
"""

_KILLED = """## kill -9 of the leading node under load

One run each of the shipped workload `lose-a-node` (one destination with one partition, 1,000 messages a second, one
group; the node that takes the writes is killed 5 s into measure), at the strongest replicated level of each broker.
*No acknowledgement* and *no delivery* are the longest times without one that began between the fault and the end of the
measure phase (`fault` in [measurements](measurements.md)). Lost: acknowledged and never received, after a complete drain.
Rejected: certainly refused, so it can be sent again. Unknown: neither acknowledged nor refused; a sender must expect
both. *Took over* is an upper bound: when the broker first named another node. One run shows what happens, not how long
it takes in the worst case: see `brokerlab run lose-a-node`.
"""


def catalogue(recorded: Sequence[Row]) -> str:
    """The whole page. `recorded` are rows of docs/data/kill-node.json."""
    brokers = {name: broker_named(name) for name in BROKERS}
    parts = [
        _HEAD, *_overview(brokers), "\n## What each can do\n", *_powers(brokers),
        "\n## What an acknowledgement promises, and where the broker comes from\n", *_promises(brokers),
        "\n" + _OPTIONS, *_options(brokers),
        "\n" + _KILLED, *_killed(recorded, brokers),
    ]  # fmt: skip
    return "\n".join(parts).rstrip() + "\n"


def with_table(readme: str) -> str:
    """The text of README.md with the table of brokers between its two marks made again."""
    before, _, rest = readme.partition(TABLE_BEGINS)
    _, _, after = rest.partition(TABLE_ENDS)
    return "\n".join([before + TABLE_BEGINS, *_short_table(), TABLE_ENDS + after])


def _short_table() -> Iterable[str]:
    yield from _table_head("broker", "nodes", "durability levels", "what runs")
    for name in BROKERS:
        broker = broker_named(name)
        can = broker.capabilities
        levels = sorted({level for of_nodes in can.durability_levels.values() for level in of_nodes})
        yield _line(name, _numbers(can.nodes) or "endpoint", ", ".join(levels), broker.runs)


def _overview(brokers: Mapping[str, Broker]) -> Iterable[str]:
    yield from _table_head("name", "product", "version", "kind", "nodes", "levels by nodes", "lose a node", "start it again",
                           "security")  # fmt: skip
    for name, broker in brokers.items():
        can = broker.capabilities
        levels = "; ".join(f"{n}: {' '.join(sorted(of))}" for n, of in sorted(can.durability_levels.items()))
        yield _line(f"`{name}`", broker.product, broker.version, broker.kind, _numbers(can.nodes) or "endpoint", levels,
                    _numbers(can.can_lose_a_node) or "no", "yes" if can.nodes and can.can_restart_a_node else "no",
                    ", ".join(can.security) or "none")  # fmt: skip


_POWERS = {
    "partitions": "partitions",
    "ordered": "order within a lane",
    "groups": "groups",
    "competing_consumers": "competing consumers",
    "keeps_backlog": "keeps a backlog",
    "replay": "replay",
    "individual_acknowledgement": "acknowledges one by one",
    "redelivery": "redelivery",
    "positions": "positions",
    "keys": "keys travel along",
}


def _powers(brokers: Mapping[str, Broker]) -> Iterable[str]:
    yield from _table_head("name", *_POWERS.values())
    for name, broker in brokers.items():
        yield _line(f"`{name}`", *("yes" if getattr(broker.capabilities, power) else "no" for power in _POWERS))


def _promises(brokers: Mapping[str, Broker]) -> Iterable[str]:
    for name, broker in brokers.items():
        folder = folder_of(name)
        readme = f"../src/brokerlab/brokers/{folder}/README.md"
        promise = broker.capabilities.acknowledgement.rstrip(".")
        source = source_of(name) or "the README does not say."
        yield f"- **`{name}`** ([README]({readme})). An acknowledgement: {promise}. Comes from: {source}"


def _options(brokers: Mapping[str, Broker]) -> Iterable[str]:
    yield from _table_head("option", "what it is")
    for name, broker in brokers.items():
        for option, meaning in broker.capabilities.endpoint_options.items():
            yield _line(f"`{name}.{option}`", meaning)


def source_of(name: str) -> str | None:
    """Where the broker comes from, in its README's words: a row `Comes from`, or the first sentence of a paragraph or
    section `Where it comes from`. None where it does not say."""
    readme = FOLDER / folder_of(name) / "README.md"
    text = readme.read_text("utf-8") if readme.exists() else ""
    for pattern in _SOURCE:
        found = pattern.search(text)
        if found is not None:
            return " ".join(_LINK.sub(r"\1", found["text"]).rstrip(".").split()) + "."
    return None


def _killed(recorded: Sequence[Row], brokers: Mapping[str, Broker]) -> Iterable[str]:
    known = {(row["broker"], row["nodes"]) for row in recorded}
    able = [(name, nodes) for name, broker in brokers.items() for nodes in broker.capabilities.can_lose_a_node]
    missing = [f"`{name}` with {nodes} nodes" for name, nodes in able if (name, nodes) not in known]
    if recorded:
        yield from _table_head("broker", "version", "nodes", "level", "killed", "took over", "no acknowledgement",
                               "no delivery", "lost", "duplicated", "rejected", "unknown", "of acknowledged", "verdict", "date")  # fmt: skip
        order = {name: i for i, name in enumerate(BROKERS)}
        for row in sorted(recorded, key=lambda r: (order.get(r["broker"], len(order)), r["nodes"], r["durability"])):
            yield _killed_line(row)
        machines = sorted({row["machine"] for row in recorded})
        yield "\nMeasured on: " + "; ".join(machines) + "."
    if missing:
        yield f"\nNot recorded yet: {', '.join(missing)}."


def _killed_line(row: Row) -> str:
    head = (f"`{row['broker']}`", row["version"], row["nodes"], row["durability"])
    if row["failure"] is not None:
        return _line(*head, *["-"] * 9, f"{row['verdict']}: {row['failure']}", row["date"])
    after = row["took_over_after_s"]
    taker = f"{row['took_over']} after {after:.2f} s" if after is not None else "nothing"
    lost = f"{row['lost']:,}" if row["drained"] else "cannot tell"
    return _line(*head, row["node"], taker, row["publish_outage"], row["delivery_outage"], lost,
                 f"{row['duplicated']:,}", f"{row['rejected']:,}", f"{row['unknown']:,}", f"{row['acknowledged']:,}", row["verdict"],
                 row["date"])  # fmt: skip


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _table_head(*names: str) -> Iterable[str]:
    yield _line(*names)
    yield "|" + "---|" * len(names)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def read_record(path: Path) -> list[dict[str, Any]]:
    """The recorded runs; none where there is no file yet."""
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["runs"] if path.exists() else []
    return rows


def main(docs: str, readme: str) -> None:
    (Path(docs) / "brokers.md").write_text(catalogue(read_record(Path(docs) / "data" / "kill-node.json")))
    Path(readme).write_text(with_table(Path(readme).read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
