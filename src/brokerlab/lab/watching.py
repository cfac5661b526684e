"""Watching without load: targets -> readings in a run directory -> tables, report. See docs/monitoring.md."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.errors import BrokerlabError
from brokerlab.home import runs_directory
from brokerlab.lab.one_run import Answer, report
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.listener import SILENT, RunListener
from brokerlab.model.plan import RunPlan, TargetPlan
from brokerlab.model.state import RunState
from brokerlab.results.directory import RunDirectory, usable_runs_directory
from brokerlab.results.run_state import LOCK_FILE
from brokerlab.secrets import resolvable

if TYPE_CHECKING:
    from brokerlab.monitor.attach import Attached
    from brokerlab.monitor.exports import Export
    from brokerlab.monitor.readers import Known, Reader
    from brokerlab.monitor.targets import Watched

EXECUTION = ExecutionId(cell="watch", repeat=1)


def watch_targets(given: Sequence[str], *, attach: bool = False, token: str | None = None) -> Watched:
    """What TARGETs and monitor.yaml files ask for, checked; nothing is read yet."""
    from brokerlab.monitor.targets import watched

    return watched(given, attach, token)


def watch(
    wanted: Watched,
    runs: Path | None = None,
    *,
    for_s: float | None = None,
    tag: str | None = None,
    exports: tuple[Export, ...] = (),
    listener: RunListener = SILENT,
) -> Answer:
    """Read the targets every interval, until Ctrl-C, SIGTERM or for so long; then make tables, verdict and report.

    Nothing of a target is changed; an agent is attached to a JVM only where its target says so.
    """
    from brokerlab.monitor.exports import check_exports

    exports = (*exports, *wanted.exports)
    root = runs or runs_directory()
    resolvable(t.security.password for t in wanted.targets if t.security is not None)
    check_exports(exports)
    usable_runs_directory(root)
    directory = _new(root, _plan(wanted, tag))
    with (directory.path / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(os.getpid()))  # for lab.stop
        lock.flush()
        try:
            _watch(directory, exports, for_s, listener)
        except BrokerlabError:
            if not directory.probes(EXECUTION).exists():  # nothing was read yet: nothing is worth keeping
                shutil.rmtree(directory.path, ignore_errors=True)
            raise
    return analyze_watched(directory)


def analyze_watched(run: RunDirectory) -> Answer:
    """Tables, verdict and report of what was watched."""
    from brokerlab.pipeline.watched import analyze_watched as evidence_to_verdict

    verdict = evidence_to_verdict(run.path)
    return Answer(run, verdict, report(run))


def _plan(wanted: Watched, tag: str | None) -> RunPlan:
    asked = json.dumps([t.model_dump(mode="json") for t in wanted.targets], sort_keys=True)
    fingerprint = hashlib.sha256(
        f"{asked}{time.time_ns()}".encode()
    ).hexdigest()  # never resumed: it is over when it ends
    return RunPlan(
        run=f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{wanted.name}-{fingerprint[:6]}",
        name=wanted.name,
        question="",
        workload_file="",
        workload_text="",
        overrides=(),
        fingerprint=fingerprint,
        tag=tag,
        seed=0,
        repeats=1,
        cells=(),
        order=(EXECUTION,),
        objectives=(),
        kind="monitor",
        targets=wanted.targets,
        interval_s=wanted.interval_s,
    )


def _new(root: Path, plan: RunPlan) -> RunDirectory:
    from brokerlab.environment import environment

    directory = RunDirectory(root / plan.run)
    facts = environment(plan.run, None)
    directory.path.mkdir(parents=True)
    directory.write("environment.json", facts)
    directory.write("state.json", RunState())
    directory.write("plan.json", plan)
    return directory


def _watch(directory: RunDirectory, exports: tuple[Export, ...], for_s: float | None, say: RunListener) -> None:
    from brokerlab.environment import clock_pair
    from brokerlab.events import Journal
    from brokerlab.monitor.exporting import exporting
    from brokerlab.monitor.watch import Watch

    plan, clock = directory.plan(), clock_pair()
    _note_state(directory, state="running", started_unix_s=time.time())
    journal = Journal(directory.events(EXECUTION), plan.run, EXECUTION)
    say.stage(f"watching {', '.join(t.words() for t in plan.targets)}")
    with _ending() as ended, contextlib.ExitStack() as stack:
        readers = {t.name: _reader(t, directory, stack, say) for t in plan.targets}
        stack.enter_context(exporting(directory.path, exports, say))
        watching = Watch(plan, readers, directory.probes(EXECUTION), clock, journal.add, say)
        silent = watching.run(ended, for_s)
    for name in silent:
        say.note(f"{name} gave no reading")
    facts = directory.environment()
    ended_at = facts.clock.model_copy(update={"end": clock_pair()})
    directory.write("environment.json", facts.model_copy(update={"clock": ended_at}))
    _note_state(directory, state="finished", ended_unix_s=time.time())


def _note_state(directory: RunDirectory, **facts: object) -> None:
    directory.write("state.json", directory.state().with_facts(EXECUTION, attempt=1, **facts))


@contextlib.contextmanager
def _ending() -> Iterator[threading.Event]:
    """Set by Ctrl-C, SIGTERM and SIGHUP: the ordinary end of watching, so that what was read is whole."""
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    before = {s: signal.signal(s, lambda *_: ended.set()) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reader(target: TargetPlan, directory: RunDirectory, stack: contextlib.ExitStack, say: RunListener) -> Reader:
    from brokerlab.monitor.readers import BrokerReader, HostReader, JvmReader, ProcessReader

    if target.kind == "host":
        return HostReader(directory.path)
    if target.kind == "process":
        return ProcessReader(target)
    if target.kind == "jvm":
        return JvmReader(target, target.url or _attached_url(target, directory, stack, say))
    return BrokerReader(_with_agent(target, directory, stack, say), _started_by_up)


def _attached_url(
    target: TargetPlan, directory: RunDirectory, stack: contextlib.ExitStack, say: RunListener
) -> str | None:
    from brokerlab.model.watched_here import JVM
    from brokerlab.monitor.attach import attach

    assert target.pid is not None
    if not target.attach:
        say.note(f"{target.name}: only its process is watched; --attach reads its beans, through an agent in the JVM")
        return None
    made = attach(target.pid, JVM.values(), directory.path)
    stack.callback(_detach, made, say)
    return made.url


def _with_agent(
    target: TargetPlan, directory: RunDirectory, stack: contextlib.ExitStack, say: RunListener
) -> TargetPlan:
    """The target with the address of an agent in its JVM, where one may be attached and none is known."""
    from brokerlab.brokers.registry import metrics_of
    from brokerlab.monitor.attach import attach, is_jvm
    from brokerlab.probes.endpoint import listening_processes

    if not target.attach or "jolokia" in target.options or _started_by_up(target).nodes:
        return target
    urls = []
    for pid in filter(is_jvm, listening_processes(target.addresses)):
        made = attach(pid, metrics_of(str(target.broker)), directory.path)
        stack.callback(_detach, made, say)
        urls.append(made.url)
    if not urls:
        say.note(f"{target.name}: no JVM of it was found on this host, so no agent is attached")
        return target
    return target.model_copy(update={"options": {**target.options, "jolokia": ",".join(urls)}})


def _detach(made: Attached, say: RunListener) -> None:
    left = made.detach()
    if left is not None:
        say.note(f"the agent in process {made.pid} could not be stopped: {left}; it is read-only and on loopback")


def _started_by_up(target: TargetPlan) -> Known:
    """What `up` knows of the broker, if it is the one that `up` started."""
    from brokerlab import background
    from brokerlab.brokers.contract import NodeInfo
    from brokerlab.monitor.readers import Known

    status = background.status(str(target.broker))
    if status is None or not set(status["endpoint"]) & set(target.addresses):
        return Known()
    nodes = tuple(NodeInfo(n["name"], n["pid"], dict(n.get("urls") or {})) for n in status["nodes"] if not n["dead"])
    return Known(nodes, dict(status.get("endpoint_options") or {}))
