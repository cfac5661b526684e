"""The directory of a study that is run, beside its runs:

<runs>/studies/<name>-<scale>/
  study.json           which runs belong to it: written before each of them begins, so that a cut-off study goes on
  tables/<table>/*.parquet   report.html       made from the study's files and the lake alone
<runs>/studies/all-<scale>.html                one page for several studies
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from brokerlab.model.document import SCHEMA_VERSION, Document, SchemaVersion
from brokerlab.results.directory import RunDirectory, run_directories, write_json
from brokerlab.results.document import read_document
from brokerlab.results.run_state import ENDED, execution_states

FOLDER = "studies"


class Step(Document):
    """One run of a study: the calibration, or cells of one experiment. `cells` has the fingerprint of each cell."""

    number: int
    experiment: str
    calibrates: bool = False
    cells: dict[str, str] = Field(default_factory=dict)
    repeats: int
    run_fingerprint: str
    run: str = ""  # its name, once it has ended


class StudyRecord(Document):
    """study.json. A pass is one time of running the study: `--fresh` begins another."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    study: str
    scale: str
    source: str
    pass_id: str
    steps: tuple[Step, ...] = ()
    not_installed: dict[str, str] = Field(default_factory=dict)  # broker -> why


@dataclass(frozen=True)
class StudyDirectory:
    path: Path

    @property
    def file(self) -> Path:
        return self.path / "study.json"

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    def record(self) -> StudyRecord | None:
        if not self.file.exists():
            return None
        hint = f"delete {self.path} and run the study again; its runs stay"
        return read_document(self.file, StudyRecord.model_validate_json, hint)

    def write(self, record: StudyRecord) -> None:
        write_json(self.file, record.model_dump(mode="json"))


def study_directory(runs: Path, name: str, scale: str) -> StudyDirectory:
    return StudyDirectory(runs / FOLDER / f"{name}-{scale}")


def page_of_all(runs: Path, scale: str) -> Path:
    return runs / FOLDER / f"all-{scale}.html"


def new_record(study: str, scale: str, source: Path) -> StudyRecord:
    pass_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
    return StudyRecord(study=study, scale=scale, source=str(source.absolute()), pass_id=pass_id)


def run_of(runs: Path, step: Step) -> RunDirectory | None:
    """The run of a step, finished or not; None where it was never begun, or was deleted."""
    if step.run and (runs / step.run / "plan.json").is_file():
        return RunDirectory(runs / step.run)
    for run in reversed(run_directories(runs)):
        if step.run_fingerprint[:6] in run.name and run.plan().fingerprint == step.run_fingerprint:
            return run
    return None


def has_ended(run: RunDirectory) -> bool:
    """Whether every execution of the run has ended, well or not."""
    return all(e.state in ENDED for e in execution_states(run, run.plan(), running=False))
