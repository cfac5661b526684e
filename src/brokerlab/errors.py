"""Everything that can go wrong, by who must act.

    BrokerlabError
    ├── UserError                exit 2   a file, flag or name given by the user is wrong
    │   ├── WorkloadError                 a workload or study file; carries every Problem found, not only the first
    │   ├── NotFoundError                 no such run, broker or workload
    │   └── EndpointOnlyError             a broker that is never started here; only one that the user runs can be used
    ├── MachineError             exit 3   this machine lacks something: Java, disk, port, a download
    │   ├── InstallError                  a broker could not be fetched, verified or unpacked
    │   ├── DiskFullError                 no space under the run directory
    │   ├── DamagedFileError              a document of a run cannot be read
    │   └── BusyError                     another run holds this host
    ├── BrokerError              exit 4   the broker did not start, answer or keep its promise
    │   ├── NotReadyError                 readiness was not proven before the deadline
    │   └── BrokerDiedError               a node's process ended while it was needed
    ├── MeasurementError         exit 5   the run happened and must not be believed
    │   └── AgentError                    an agent ended without its evidence
    └── InterruptedRunError      exit 130 the user stopped it; what was measured is saved

The command line maps a class to its exit code here and nowhere else. Codes 6 (delivery violated) and 7 (objective
missed) are verdicts of a run that worked, so they have no exception; `ExitCode` names them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to its caller; documented in docs/running.md."""

    OK = 0
    USER = 2
    MACHINE = 3
    BROKER = 4
    INVALID = 5
    DELIVERY_VIOLATED = 6
    OBJECTIVE_MISSED = 7
    INTERRUPTED = 130


class BrokerlabError(Exception):
    """Base of all errors shown to people. `hint` says what to do next."""

    exit_code = ExitCode.MACHINE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"


class UserError(BrokerlabError):
    """The user's input is wrong."""

    exit_code = ExitCode.USER


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a file the user wrote. `line` counts from 1; 0 means it came from the command line."""

    file: str
    line: int
    field: str
    message: str
    value: str | None = None
    nearest: str | None = None
    refused: bool = False  # the file is right; the broker or this machine cannot do what it asks for

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        said = "" if self.value is None else f" (got {self.value!r})"
        near = "" if self.nearest is None else f"; did you mean {self.nearest!r}?"
        return f"{where}: {self.field}: {self.message}{said}{near}"


class WorkloadError(UserError):
    """A workload or a study is not usable. Carries all problems, found before anything starts."""

    def __init__(self, problems: list[Problem], *, hint: str | None = None) -> None:
        self.problems = problems
        super().__init__("\n".join(str(p) for p in problems), hint=hint)


class NotFoundError(UserError):
    """No such run, broker or workload."""


class EndpointOnlyError(UserError):
    """A broker is never started here: there is nothing to install, and its address must be given."""


class MachineError(BrokerlabError):
    """This machine lacks something."""

    exit_code = ExitCode.MACHINE


class InstallError(MachineError):
    """A broker or a runtime could not be fetched, verified or unpacked."""


class DiskFullError(MachineError):
    """No space left where a run writes."""


class DamagedFileError(MachineError):
    """A document of a run is not as brokerlab wrote it: damaged, cut off or edited. `problem` is what is wrong in it."""

    def __init__(self, file: object, problem: str, *, hint: str) -> None:
        super().__init__(f"{file} cannot be read: {problem}", hint=hint)
        self.problem = problem


class BusyError(MachineError):
    """Another run holds this host."""


class BrokerError(BrokerlabError):
    """The broker did not start, answer or keep its promise."""

    exit_code = ExitCode.BROKER


class NotReadyError(BrokerError):
    """Readiness was not proven before the deadline."""


class BrokerDiedError(BrokerError):
    """A node's process ended while it was needed."""


class MeasurementError(BrokerlabError):
    """The run happened and must not be believed."""

    exit_code = ExitCode.INVALID


class AgentError(MeasurementError):
    """An agent ended without its evidence; `agents` names those that did."""

    def __init__(self, message: str, *, hint: str | None = None, agents: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.agents = agents


class InterruptedRunError(BrokerlabError):
    """The user stopped the run; what was measured is saved."""

    exit_code = ExitCode.INTERRUPTED

    @classmethod
    def saved_in(cls, place: object) -> InterruptedRunError:
        """For work that the same command takes up again."""
        return cls(
            f"interrupted; what was measured is saved in {place}",
            hint="the same command continues where this one stopped",
        )
