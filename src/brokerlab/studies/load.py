"""From a study's folder to a checked Study, or to everything that is wrong with it. Starts nothing."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from brokerlab.brokers.registry import BROKERS
from brokerlab.errors import Problem, UserError, WorkloadError
from brokerlab.judge.checks import CHECKS
from brokerlab.model.claims import LIKE_WITH_LIKE, SAME, Bound, Claim
from brokerlab.model.metrics import METRICS
from brokerlab.studies import published
from brokerlab.studies.fields import ClaimFields, Experiment, Figure, Scale, StudyFields
from brokerlab.studies.language import LanguageError, is_per_second, parse_bound, parse_measure
from brokerlab.studies.published import Point
from brokerlab.workload.tree import Path, Tree, parse_path, read_tree
from brokerlab.workload.validation import field_problems

FILE = "study.yaml"
SHIPPED = FilePath(__file__).parent / "shipped"
SCALES = ("quick", "full")
CALIBRATED = re.compile(r"([0-9]+(?:\.[0-9]+)?) of calibrated")
OF_THE_STUDY = ("name", "question", "sweep", "cells", "repeats", "seed", "phases")  # not for a single cell to set
OF_A_CELL = ("phases.warm_up",)  # of these all the same: nothing of it is measured


@dataclass(frozen=True)
class Overlay:
    """One field of a cell that differs from its workload: text as written, by scale, and where that stands."""

    path: str
    texts: dict[str, str]  # scale -> value as written; a scale that is not there keeps the workload's
    places: dict[str, Path]


@dataclass(frozen=True)
class StudyCell:
    name: str
    experiment: str
    overlays: tuple[Overlay, ...]

    @property
    def is_calibrated(self) -> bool:
        return any(self.uses_calibration(scale) for scale in SCALES)

    def uses_calibration(self, scale: str) -> bool:
        return any(CALIBRATED.fullmatch(o.texts.get(scale, "")) for o in self.overlays)


@dataclass(frozen=True)
class Study:
    """A study that is sound in itself. Whether its workloads are, and what they can do here, is known by planning them."""

    fields: StudyFields
    folder: FilePath
    file: str  # for messages
    tree: Tree
    cells: tuple[StudyCell, ...]
    claims: tuple[Claim, ...]
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        return self.fields.name

    @property
    def called(self) -> str:
        """What commands take for it: the name of a shipped one, else its folder."""
        return self.name if self.folder.parent == SHIPPED else str(self.folder)

    def scale(self, name: str) -> Scale:
        found = self.fields.scales.quick if name == "quick" else self.fields.scales.full
        if found is None:
            raise UserError(
                f"{self.name} has no scale {name}", hint="give scales.full in its study.yaml, or --scale quick"
            )
        return found

    def scales(self) -> tuple[str, ...]:
        return SCALES if self.fields.scales.full is not None else SCALES[:1]

    def cell(self, name: str) -> StudyCell:
        return next(c for c in self.cells if c.name == name)

    def experiment_cells(self, experiment: str) -> tuple[StudyCell, ...]:
        return tuple(c for c in self.cells if c.experiment == experiment)

    def workload(self, experiment: str) -> FilePath:
        return self.folder / next(e.workload for e in self.fields.experiments if e.id == experiment)

    def figures(self) -> Iterator[tuple[str, Figure, tuple[str, ...]]]:
        """(number, declaration, cells in order) of every figure."""
        for experiment in self.fields.experiments:
            for number, figure in experiment.figures.items():
                yield number, figure, drawn(figure.cells, experiment, self.fields.experiments)

    def ours(self) -> frozenset[str]:
        """Claims that were added here, by id; the others are the study's."""
        return frozenset(c.id for c in self.fields.claims if c.ours)

    def requires(self, claim: str) -> Any:
        return next(c.requires for c in self.fields.claims if c.id == claim)


def load_study(folder: FilePath, file: str | None = None) -> Study:
    """The study in a folder. Raises WorkloadError with every problem, UserError where there is no study.yaml."""
    path = folder / FILE
    named = file or str(path)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise UserError(
            f"{folder} has no {FILE}", hint="brokerlab study init FOLDER writes one to start from"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}", hint="a study is YAML in UTF-8") from None
    tree = read_tree(text, named, "study", "name, title, scales, experiments, claims")
    try:
        fields = StudyFields.model_validate(tree.root)
    except ValidationError as error:
        raise WorkloadError(_in_order(field_problems(tree, error.errors(include_url=False), StudyFields))) from None
    return _Loading(tree, fields, folder, named).study()


class _Loading:
    """Checks what belongs together, and keeps every problem."""

    def __init__(self, tree: Tree, fields: StudyFields, folder: FilePath, file: str) -> None:
        self.tree, self.fields, self.folder, self.file = tree, fields, folder, file
        self.problems: list[Problem] = []

    def study(self) -> Study:
        cells = self._cells()
        self._experiments()
        self._calibrate(cells)
        claims = self._claims([c.name for c in cells])
        points = self._points()
        if self.problems:
            raise WorkloadError(_in_order(self.problems))
        return Study(self.fields, self.folder, self.file, self.tree, tuple(cells), tuple(claims), tuple(points))

    def _problem(self, path: Path, message: str, nearest: str | None = None, *, with_value: bool = True) -> None:
        self.problems.append(self.tree.problem(path, message, with_value=with_value, nearest=nearest))

    def _unique(self, named: Sequence[tuple[Path, str]], what: str) -> None:
        seen: set[str] = set()
        for path, name in named:
            if name in seen:
                self._problem(path, f"must be different for every {what}", with_value=False)
            seen.add(name)

    def _cells(self) -> list[StudyCell]:
        found, named = [], []
        for i, experiment in enumerate(self.fields.experiments):
            for name, overlay in experiment.cells.items():
                at: Path = ("experiments", i, "cells", name)
                named.append((at, name))
                overlays = tuple(self._overlay((*at, path), path, value) for path, value in overlay.items())
                found.append(StudyCell(name, experiment.id, overlays))
        self._unique(named, "cell of the study")
        return found

    def _overlay(self, at: Path, path: str, value: Any) -> Overlay:
        try:
            first = parse_path(path)[0]
        except ValueError as error:
            self._problem(at, str(error), with_value=False)
            first = ""
        if first in OF_THE_STUDY and path not in OF_A_CELL:
            self._problem(at, f"{first} is the same for all cells: set it in the workload or under scales")
        if isinstance(value, dict) and value and set(value) <= set(SCALES):
            places = {scale: (*at, scale) for scale in value}
        else:
            places = dict.fromkeys(SCALES, at)
        texts = {scale: self.tree.origin(place).text for scale, place in places.items()}
        return Overlay(path, texts, places)

    def _experiments(self) -> None:
        experiments = self.fields.experiments
        self._unique([(("experiments", i, "id"), e.id) for i, e in enumerate(experiments)], "experiment")
        numbers = [(("experiments", i, "figures", n), n) for i, e in enumerate(experiments) for n in e.figures]
        self._unique(numbers, "figure")
        for i, experiment in enumerate(experiments):
            if not (self.folder / experiment.workload).is_file():
                near = _near(experiment.workload, [p.name for p in self.folder.glob("*.yaml") if p.name != FILE])
                self._problem(("experiments", i, "workload"), "is not a file in the study's folder", near)
            for number, figure in experiment.figures.items():
                at: Path = ("experiments", i, "figures", number)
                self._metric((*at, "metric"), figure.metric)
                if figure.along != "cell" and not is_per_second(figure.metric):
                    self._problem((*at, "metric"), f"is not known second by second, as along: {figure.along} draws it")
                for k, pattern in enumerate(figure.cells):
                    if not drawn((pattern,), experiment, experiments):
                        every = [name for e in experiments for name in e.cells]
                        self._problem((*at, "cells", k), "is not a cell of this study", _near(pattern, every))

    def _metric(self, path: Path, metric: str) -> None:
        if metric not in METRICS:
            self._problem(path, "is not a metric", _near(metric, METRICS))

    def _calibrate(self, cells: list[StudyCell]) -> None:
        calibrate = self.fields.calibrate
        if calibrate is None:
            for cell in cells:
                for overlay in cell.overlays:
                    for scale, text in overlay.texts.items():
                        if CALIBRATED.fullmatch(text):
                            self._problem(
                                overlay.places[scale], "needs `calibrate: {cell: .., metric: ..}` in the study"
                            )
            return
        self._metric(("calibrate", "metric"), calibrate.metric)
        named = {c.name: c for c in cells}
        if calibrate.cell not in named:
            self._problem(("calibrate", "cell"), "is not a cell of the study", _near(calibrate.cell, named))
        elif named[calibrate.cell].is_calibrated:
            self._problem(("calibrate", "cell"), "must not itself have a rate `of calibrated`")

    def _claims(self, cells: Sequence[str]) -> list[Claim]:
        self._unique([(("claims", i, "id"), c.id) for i, c in enumerate(self.fields.claims)], "claim")
        return [claim for i, c in enumerate(self.fields.claims) if (claim := self._claim(("claims", i), c, cells))]

    def _claim(self, at: Path, c: ClaimFields, cells: Sequence[str]) -> Claim | None:
        bound: Bound | None = None
        parts = None
        try:
            bound = parse_bound(c.holds) if c.holds is not None else None
        except LanguageError as error:
            self._problem((*at, "holds"), str(error), error.nearest)
        try:
            parts = parse_measure(c.measure, bound or (Bound("any") if c.holds is not None else None), cells)
        except LanguageError as error:
            self._problem((*at, "measure"), str(error), error.nearest)
        self._words((*at, "same"), c.same, SAME, "can be asked to be the same")
        self._words((*at, "expects"), c.expects, [check.code for check in CHECKS], "is a reason of a verdict")
        for broker in c.requires.server:
            if broker not in BROKERS:
                self._problem((*at, "requires", "server", broker), "is not a broker", _near(broker, BROKERS))
        if parts is None:
            return None
        published_values = c.published.value or ()
        if len(published_values) not in (0, 1, len(parts)):
            self._problem((*at, "published", "value"), f"must be one number, or one for each of the {len(parts)} parts")
        found = Claim(
            c.id, _line(c.says), _line(c.measure), bound.text if bound else "", parts, published_values,
            (c.published.range[0], c.published.range[1]) if c.published.range else None,
            _line(c.published.text), c.published.where, c.same, _line(c.unlike), c.expects,
            c.requires.driver_path or "",
        )  # fmt: skip
        left_out = [word for word in LIKE_WITH_LIKE if word not in c.same]
        if len(found.cells) > 1 and left_out and not c.unlike:
            self._problem(
                (*at, "same"), f"leaves out {' and '.join(left_out)}: say in `unlike` why the cells may be compared"
            )
        return found

    def _words(self, at: Path, words: Sequence[str], known: Sequence[str], what: str) -> None:
        for k, word in enumerate(words):
            if word not in known:
                near = _near(word, known)
                self._problem(
                    (*at, k), f"is nothing that {what}" + ("" if near else f"; known: {', '.join(known)}"), near
                )

    def _points(self) -> list[Point]:
        experiments = self.fields.experiments
        cells = {n: drawn(f.cells, e, experiments) for e in experiments for n, f in e.figures.items()}
        file = self.folder / published.FILE
        if not file.is_file():
            return []
        points, problems = published.read_published(file.read_text("utf-8"), cells)
        named = str(FilePath(self.file).with_name(published.FILE))
        self.problems += [Problem(named, p.line, p.field, p.message, p.value, p.nearest) for p in problems]
        return points


def drawn(cells: Sequence[str], of: Experiment, every: Sequence[Experiment]) -> tuple[str, ...]:
    """The cells that a figure names, in order. Patterns mean cells of its own experiment; a name may be a cell of any."""
    others = [name for experiment in every for name in experiment.cells]
    means = (matching((p,), tuple(of.cells)) or tuple(n for n in others if n == p) for p in cells)
    return tuple(dict.fromkeys(name for names in means for name in names))


def matching(patterns: Sequence[str], cells: Sequence[str]) -> tuple[str, ...]:
    """The cells that the patterns mean, each once, in order of the patterns."""
    return tuple(dict.fromkeys(c for p in patterns for c in cells if fnmatch.fnmatchcase(c, p)))


def _near(name: str, known: Any) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def _line(text: str) -> str:
    return " ".join(text.split())


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda p: (p.file, p.line))
