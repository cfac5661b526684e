"""A run that is in progress, in whatever process: stop it, add a remark to it."""

from __future__ import annotations

import os
import signal

from brokerlab.errors import NotFoundError, UserError
from brokerlab.model.execution_id import ExecutionId
from brokerlab.results.directory import RunDirectory
from brokerlab.results.executions import all_executions
from brokerlab.results.run_state import runner_pid

REMARK_CHARACTERS = 500


def stop(run: RunDirectory) -> None:
    """Ask the process that measures a run to stop, as Ctrl-C does: what was measured is kept, and the same command goes on
    later. Does not wait. NotFoundError where the run is not in progress."""
    pid = runner_pid(run)
    gone = NotFoundError(f"{run.name} is not in progress", hint="there is nothing to stop")
    if pid is None:
        raise gone
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        raise gone from None
    try:
        if runner_pid(run) != pid:  # it ended, and its number may be another's by now
            raise gone
        signal.pidfd_send_signal(process, signal.SIGINT)
    except ProcessLookupError:
        raise gone from None
    finally:
        os.close(process)


def annotate(run: RunDirectory, execution: str, text: str) -> None:
    """Add a remark to the journal of an execution that has begun, at this moment. It is kept with the evidence and changes no
    result. UserError for a remark that is empty or too long, NotFoundError for an execution that has not begun."""
    from brokerlab.events import Journal
    from brokerlab.model.events import Annotation

    remark = " ".join(text.split())
    if not remark or len(remark) > REMARK_CHARACTERS:
        raise UserError(f"a remark must have 1 to {REMARK_CHARACTERS} characters (got {len(remark)})")
    state = run.state()
    known = {str(e): e for e in all_executions(run.plan(), state)}
    found: ExecutionId | None = known.get(execution)
    if found is None or state.of(found).state == "waiting":
        raise NotFoundError(f"no execution of {run.name} that has begun is called {execution!r}")
    journal = Journal(run.events(found), run.plan().run, found, state.of(found).attempt, writer="remark")
    journal.add(Annotation(text=remark), source="user")
