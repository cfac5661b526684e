"""The exporter process: follows a run directory and gives its series out. One JSON line in, then until standard input ends.

`python -m brokerlab.monitor.exporter` prints {"event": "ready"} when it listens, and at the end what each export got and
lost. It runs beside the run and reads files that are there anyway: whatever becomes of it, the run goes on.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

from brokerlab.errors import BrokerlabError, ExitCode
from brokerlab.evidence.background import give_way
from brokerlab.model.plan import Frozen
from brokerlab.monitor.exports import Export
from brokerlab.results.directory import RunDirectory

LOOK_EVERY_S = 1.0
END_WITHIN_S = 2.0


class ExporterPlan(Frozen):
    directory: str
    exports: tuple[Export, ...]


def plan_line(directory: Path, exports: tuple[Export, ...]) -> str:
    return ExporterPlan(directory=str(directory), exports=exports).model_dump_json()


def follow(plan: ExporterPlan) -> dict[str, Any]:
    """Until standard input ends."""
    from brokerlab.monitor.graphite import GraphiteSender
    from brokerlab.monitor.prometheus import Page, PrometheusServer
    from brokerlab.monitor.series import Series
    from brokerlab.monitor.tail import Tail

    run = RunDirectory(Path(plan.directory)).plan()
    series, tail = Series(), Tail(Path(plan.directory))
    info = {"run_id": run.run, "name": run.name, **({"tag": run.tag} if run.tag else {})}
    page = Page(series, info, {cell.cell: cell.broker for cell in run.cells})
    servers = [PrometheusServer(e, page) for e in plan.exports if e.kind == "prometheus"]
    senders = [GraphiteSender(e) for e in plan.exports if e.kind == "graphite"]
    for sender in senders:
        sender.start()
    print(json.dumps({"event": "ready"}), flush=True)
    goes_on = True
    while goes_on:
        goes_on = not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]
        for news in tail.look():
            points = series.take(news)
            for sender in senders:
                sender.put(points)
    for sender in senders:
        sender.end(END_WITHIN_S)
    for server in servers:
        server.end()
    said = [{"to": s.words, "sent": s.sent, "lost": s.lost, "problem": s.problem} for s in senders]
    return {"event": "done", "graphite": said}


def _first_line() -> bytes:
    """Unbuffered: the end that follows must stay visible to select."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(sys.stdin.fileno(), 1)):
        line += byte
    return line


def main() -> int:
    give_way()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to answer: it closes our input
    try:
        said = follow(ExporterPlan.model_validate_json(_first_line()))
    except (BrokerlabError, OSError, ValueError) as error:
        print(f"exporter: {error}", file=sys.stderr)
        return int(error.exit_code if isinstance(error, BrokerlabError) else ExitCode.MACHINE)
    print(json.dumps(said), flush=True)
    return int(ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main())
