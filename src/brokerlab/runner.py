"""One run from top to bottom: lock the host, find or make the run directory, execute what is not finished yet."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from brokerlab.clusters import Clusters
from brokerlab.doctor.ceilings import ceilings
from brokerlab.environment import clock_pair, environment
from brokerlab.errors import BrokerlabError, InterruptedRunError, UserError
from brokerlab.execution import Execution
from brokerlab.home import cache_directory
from brokerlab.interrupts import signals_interrupt
from brokerlab.machine.cgroups import remove_leftovers
from brokerlab.model.environment import CellEnvironment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.listener import RunListener
from brokerlab.model.plan import CellPlan, RunPlan
from brokerlab.model.state import RunState
from brokerlab.monitor.exporting import exporting
from brokerlab.monitor.exports import Export
from brokerlab.results.directory import RunDirectory
from brokerlab.results.run_state import ENDED, LOCK_FILE, unfinished_run
from brokerlab.rounds import Extra, extra_in_place_of, rounds
from brokerlab.secrets import redacted
from brokerlab.workload.estimate import lengths_s


def run(
    plan: RunPlan,
    root: Path,
    *,
    say: RunListener,
    fresh: bool = False,
    java: str | None = None,
    exports: tuple[Export, ...] = (),
) -> RunDirectory:
    """Execute every cell and repeat of the plan and return the run directory, ready to be analyzed.

    An unfinished run of the same fingerprint under `root` is taken up again unless `fresh`: finished executions are
    kept. Ctrl-C and SIGTERM save what there is and raise InterruptedRunError.
    """
    with signals_interrupt(), _alone_on_this_host(say):
        directory = (None if fresh else unfinished_run(root, plan.fingerprint, say.note)) or _new(root, plan, java)
        plan = directory.plan()
        with _saved_when_interrupted(directory), _locked(directory.path / LOCK_FILE):
            shutil.rmtree(directory.path / "clusters", ignore_errors=True)  # of a runner that was killed
            remove_leftovers()
            left_behind = partial(_left_behind, say)
            with exporting(directory.path, exports, say), Clusters(left_behind) as clusters:
                _execute_rounds(plan, directory, clusters, say)
            if not directory.environment_file.exists():
                raise UserError(
                    f"{directory.path} was deleted while the run was in progress", hint="run the command again"
                )
            facts = directory.environment()
            clock = facts.clock.model_copy(update={"end": clock_pair()})
            directory.write("environment.json", facts.model_copy(update={"clock": clock}))
    return directory


@contextmanager
def _saved_when_interrupted(directory: RunDirectory) -> Iterator[None]:
    """Ctrl-C says what to do next wherever it comes: in an execution or between two, where clusters start and stop."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedRunError.saved_in(directory.path) from None


def _left_behind(say: RunListener, what: str, to_do: str) -> None:
    say.note(f"clean-up failed: {redacted(what)}; {to_do}")


def _execute_rounds(plan: RunPlan, directory: RunDirectory, clusters: Clusters, say: RunListener) -> None:
    """Where clusters are kept, extra executions begin with the cell that ran last: its cluster is still there."""
    keeps = any(cell.cluster_key() is not None for cell in plan.cells)
    for cells in rounds(plan):
        for execution in cells:
            _execute_once(plan, execution, directory, clusters, say)
        for execution in reversed(cells) if keeps else cells:
            while extra := extra_in_place_of(plan, directory, execution):
                say.note(f"{execution} is set aside and {extra.execution} run in its place: {extra.why}")
                _execute(plan, extra.execution, directory, clusters, say, extra)


def _execute_once(
    plan: RunPlan, execution: ExecutionId, directory: RunDirectory, clusters: Clusters, say: RunListener
) -> None:
    before = directory.state().of(execution).state
    if before in ENDED:
        say.note(f"{execution} {before} before: kept")
    else:
        _execute(plan, execution, directory, clusters, say)


def _execute(
    plan: RunPlan,
    execution: ExecutionId,
    directory: RunDirectory,
    clusters: Clusters,
    say: RunListener,
    extra: Extra | None = None,
) -> None:
    cell = next(c for c in plan.cells if c.cell == execution.cell)
    name = str(execution)
    attempt = _move_leftovers(directory, execution)
    beyond = {} if extra is None else {"extra": True, "replaces": extra.replaces, "why": extra.why}
    _note_state(
        directory, execution, state="running", reason=None, attempt=attempt, started_unix_s=time.time(), **beyond
    )
    try:
        once = Execution(plan, cell, execution, attempt, directory, clusters, say)
        once.progress = _progress(
            plan, cell, extra.replaces if extra else execution.repeat, say, is_extra=extra is not None
        )
        once.note = lambda facts: _note_cell(directory, cell.cell, facts)
        facts = once.run()
    except KeyboardInterrupt:
        _note_state(
            directory, execution, state="interrupted", reason="interrupted by the user", ended_unix_s=time.time()
        )
        raise
    except BaseException as e:
        reason = redacted(str(e) if isinstance(e, BrokerlabError) else f"{type(e).__name__}: {e}")
        with contextlib.suppress(OSError):  # on a full disk the state stays "running" although nothing runs any more
            _note_state(directory, execution, state="interrupted", reason=reason, ended_unix_s=time.time())
        raise
    state = "finished" if facts.failure is None else "failed"
    failure = None if facts.failure is None else redacted(facts.failure)
    _note_state(directory, execution, state=state, reason=failure, drained=facts.drained, ended_unix_s=time.time())
    say.note(f"{name} {state}: {cell.label}, {plan.repeat_words(execution)}")


def _progress(plan: RunPlan, cell: CellPlan, repeat: int, say: RunListener, *, is_extra: bool) -> Any:
    """A function that tells the listener how far the whole run is, by time. An extra execution moves nothing: it is run when
    its round is done."""
    lengths = lengths_s(plan)
    number = plan.order.index(ExecutionId(cell=cell.cell, repeat=repeat))
    while is_extra and number < len(plan.order) and plan.order[number].repeat == repeat:
        number += 1
    before, total = sum(lengths[:number]), sum(lengths)
    began = time.monotonic()

    def tell(text: str) -> None:
        within = 0.0 if is_extra else min(time.monotonic() - began, lengths[number])
        say.progress((before + within) / total, text)

    return tell


def _new(root: Path, plan: RunPlan, java: str | None) -> RunDirectory:
    """The plan goes in last: a directory without it is no run, and one with it has everything a run begins with."""
    name, same_second = plan.run, 1
    while (root / plan.run).exists():  # the same command was given twice within a second
        same_second += 1
        plan = plan.model_copy(update={"run": f"{name}x{same_second}"})
    directory = RunDirectory(root / plan.run)
    facts = environment(plan.run, java)
    directory.path.mkdir(parents=True)
    if plan.ceilings:
        facts = facts.model_copy(update={"ceilings": ceilings(directory.path)})
    directory.write("environment.json", facts)
    directory.write("state.json", RunState())
    directory.write("plan.json", plan)
    return directory


def _move_leftovers(directory: RunDirectory, execution: ExecutionId) -> int:
    """What an execution that was cut off left behind is kept, out of the way of the new attempt, whose number this
    returns. Renamed, not copied: a writer of the old attempt that is still at it follows its directory."""
    name = str(execution)
    shutil.rmtree(directory.path / "clusters" / name, ignore_errors=True)
    before = directory.state().of(execution).attempt
    quarantined = ("quarantine/evidence", "quarantine/probes", "quarantine/events")
    for kind in ("evidence", "probes", "events", "logs", *quarantined):
        old = directory.path / kind / name
        if old.exists():
            aside = directory.path / "abandoned" / f"{name}-{before}" / kind
            aside.parent.mkdir(parents=True, exist_ok=True)
            old.rename(aside)
    return before + 1


def _note_state(directory: RunDirectory, execution: ExecutionId, **facts: Any) -> None:
    directory.write("state.json", directory.state().with_facts(execution, **facts))


def _note_cell(directory: RunDirectory, cell: str, facts: CellEnvironment) -> None:
    directory.write("environment.json", directory.environment().with_cell(cell, facts))


@contextmanager
def _alone_on_this_host(say: RunListener) -> Iterator[None]:
    """Two runs at once would measure each other: the second waits for the first."""
    path = cache_directory() / "host.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say.note(f"another run is measuring on this host ({_holder(file)}): waiting for it to end")
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except KeyboardInterrupt:
                raise InterruptedRunError("interrupted while waiting for the other run; nothing was started") from None
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def _holder(file: TextIO) -> str:
    file.seek(0)
    return file.read().strip() or "unknown"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Tells others that this run is in progress, and in which process."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(str(os.getpid()))
        file.flush()
        yield
