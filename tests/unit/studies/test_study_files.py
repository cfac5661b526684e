"""A study's folder: what is wrong with it is said all at once, with file, line, field, value and the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab import lab
from brokerlab.cli.study_text import count_line
from brokerlab.errors import NotFoundError, Problem, UserError, WorkloadError
from brokerlab.studies.cells import calibrated_rate, planned_cells
from brokerlab.studies.finding import find_study, names
from brokerlab.studies.load import Study, load_study
from brokerlab.studies.template import write_template
from study_runs import PUBLISHED, STUDY, WORKLOAD, write_study


def plan(workload: Path, overrides: list[str]):
    return lab.plan(workload, overrides=overrides)


def problems(folder: Path) -> list[Problem]:
    with pytest.raises(WorkloadError) as caught:
        planned_cells(load_study(folder), "quick", plan)
    return caught.value.problems


def line_of(text: str, part: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if part in line)


CHANGES = [
    # old, new, field, part of the message, value, nearest
    ("title: A tiny", "titel: A tiny", "titel", "is not a field", None, "title"),
    ("least: 4", "lest: 4", "scales.quick.repeats.lest", "is not a field", None, "least"),
    ("measure: 5s}", "measure: 5}", "scales.quick.phases.measure", "the unit is missing", "5", None),
    ("title: Rates", "titles: Rates", "experiments[0].figures.6.titles", "is not a field", None, "title"),
    ("workload: rates.yaml", "workload: rate.yaml", "experiments[0].workload", "is not a file", "rate.yaml", "rates.yaml"),
    ("cells: [\"*\"]", "cells: [slwo]", "experiments[0].figures.6.cells[0]", "is not a cell", "slwo", "slow"),
    ("metric: sent_per_s, x", "metric: sent_pers, x", "experiments[0].figures.6.metric", "is not a metric", "sent_pers", "sent_per_s"),
    ("metric: sent_per_s, x", "metric: sent_bytes_per_s, along: second, x", "experiments[0].figures.6.metric", "is not known second by second", "sent_bytes_per_s", None),
    ("ratio(fast, slow, ", "ratio(fats, slow, ", "claims[0].measure", "no cell is called fats", "ratio(fats, slow, sent_per_s)", "fast"),
    ("holds: 1.5 to 2.5", "holds: about 2", "claims[0].holds", "must be a range", "about 2", None),
    ("holds: 1.5 to 2.5", "holds: 1.5 to 2.5\n    same: [durabilty]\n    unlike: x", "claims[0].same[0]", "is nothing that", "durabilty", "durability"),
    ("holds: 1.5 to 2.5", "holds: 1.5 to 2.5\n    same: [durability]", "claims[0].same", "say in `unlike` why", None, None),
    ("holds: 1.5 to 2.5", "holds: 1.5 to 2.5\n    expects: [not_stedy]", "claims[0].expects[0]", "is a reason", "not_stedy", "not_steady"),
    ("holds: 1.5 to 2.5", "holds: 1.5 to 2.5\n    requires: {server: {mongod: MongoDB}}", "claims[0].requires.server.mongod", "is not a broker", "MongoDB", "mongodb"),
    ("value: 2.0,", "value: [2.0, 3.0],", "claims[0].published.value", "must be one number", None, None),
    ("id: open", "id: twice", "claims[1].id", "must be different for every claim", None, None),
    ("slow: {producers.rate: 100/s}", "slow: {producers.rate: 0.5 of calibrated}", "experiments[0].cells.slow.producers.rate", "needs `calibrate", "0.5 of calibrated", None),
    ("slow: {producers.rate: 100/s}", "slow: {phases.measure: 3s}", "experiments[0].cells.slow.phases.measure", "the same for all cells", "3s", None),
    ("slow: {producers.rate: 100/s}", "slow: {repeats: 3}", "experiments[0].cells.slow.repeats", "the same for all cells", "3", None),
    ("slow: {producers.rate: 100/s}", "slow: {producers.ratee: 100/s}", "experiments[0].cells.slow.producers.ratee", "is not a field", None, "rate"),
    ("fast: {producers.rate: {quick: 200/s}}", "fast: {producers.rate: {quick: 200}}", "experiments[0].cells.fast.producers.rate.quick", "the unit is missing", "200", None),
    ("slow: {producers.rate: 100/s}", "slow: {sweep.producers.rate: [1/s, 2/s]}", "experiments[0].cells.slow.sweep.producers.rate", "the same for all cells", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "field", "said", "value", "nearest"), CHANGES, ids=lambda v: str(v)[:30])
def test_a_bad_study_names_file_line_field_value_and_nearest(
    tmp_path: Path, old: str, new: str, field: str, said: str, value: str | None, nearest: str | None
) -> None:
    assert old in STUDY
    text = STUDY.replace(old, new)
    folder = write_study(tmp_path / "s", text)
    found = [p for p in problems(folder) if p.field == field]
    assert found, problems(folder)
    assert found[0].file == str(folder / "study.yaml")
    assert found[0].line == line_of(STUDY, old) + ("\n" in new)
    assert said in found[0].message
    assert value is None or found[0].value == value
    assert found[0].nearest == nearest


def test_all_problems_are_told_together(tmp_path: Path) -> None:
    text = STUDY.replace("ratio(fast, slow", "ratio(fats, slow").replace('holds: "> 1"', "holds: much")
    text = text.replace("workload: rates.yaml", "workload: none.yaml")
    assert [p.field for p in problems(write_study(tmp_path, text))] == [
        "experiments[0].workload", "claims[0].measure", "claims[1].holds",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "field", "said", "nearest"),
    [
        (PUBLISHED.replace("figure,", "figur,"), 1, "figur", "is not a column", "figure"),
        (PUBLISHED.replace("6,study,100,90", "6,study,100,many"), 2, "y", "must be a number", None),
        (PUBLISHED.replace("6,study,200", "7,study,200"), 3, "figure", "no experiment has this figure", None),
        (PUBLISHED.replace(",slow,", ",slaw,"), 2, "cell", "is not among the cells of figure 6", "slow"),
        (PUBLISHED + "6,study\n", 4, "line", "must have 8 values", None),
    ],
)
def test_a_bad_published_figure_is_named(
    tmp_path: Path, text: str, line: int, field: str, said: str, nearest: str | None
) -> None:
    (problem, *_) = problems(write_study(tmp_path, published_csv=text))
    assert problem.file == str(tmp_path / "published.csv")
    assert (problem.line, problem.field, problem.nearest) == (line, field, nearest)
    assert said in problem.message


def test_a_problem_of_the_workload_is_told_at_its_own_line(tmp_path: Path) -> None:
    folder = write_study(tmp_path, rates_yaml=WORKLOAD.replace("consumers:", "consumer:"))
    (problem,) = problems(folder)
    assert problem.file == str(folder / "rates.yaml")
    assert (problem.line, problem.nearest) == (line_of(WORKLOAD, "consumers:"), "consumers")


def test_overlays_and_scales_are_laid_over_the_workload(tmp_path: Path) -> None:
    text = STUDY.replace("  quick:", "  full: {repeats: {least: 4}, set: {driver: python}}\n  quick:")
    study = load_study(write_study(tmp_path, text))
    quick = {name: c.one() for name, c in planned_cells(study, "quick", plan).items()}
    assert {n: c.producers.schedule.rate_per_s for n, c in quick.items()} == {"slow": 100, "fast": 200, "other": 300}
    assert {c.phases.measure_s for c in quick.values()} == {5.0}
    assert {c.phases.warm_up_s for c in quick.values()} == {1.0}
    full = {name: c.one() for name, c in planned_cells(study, "full", plan).items()}
    assert full["fast"].producers.schedule.rate_per_s == 1000  # the workload's: the cell says nothing for this scale
    assert {c.driver for c in full.values()} == {"python"}


def test_what_a_broker_cannot_do_or_is_absent_makes_a_cell_not_runnable(tmp_path: Path) -> None:
    text = STUDY.replace("slow: {producers.rate: 100/s}", "slow: {durability: L1}")
    text = text.replace("fast: {producers.rate: {quick: 200/s}}", "fast: {broker: tibco}")
    folder = write_study(tmp_path, text)
    assert [p.field for p in problems(folder)] == ["experiments[0].cells.fast.broker"]
    study = load_study(write_study(tmp_path, text.replace("scales:", "absent: {tibco: a service elsewhere}\nscales:")))
    cells = planned_cells(study, "quick", plan)
    assert cells["fast"].why_not == "a service elsewhere"
    assert "memory does not offer L1" in cells["slow"].why_not
    assert cells["other"].plan is not None


def test_what_this_machine_has_not_makes_a_cell_not_runnable(tmp_path: Path) -> None:
    text = STUDY.replace("slow: {producers.rate: 100/s}", "slow: {placement.nodes: [999]}")
    cells = planned_cells(load_study(write_study(tmp_path, text)), "quick", plan)
    assert "placement.nodes[0]: must be a core that this command may use" in cells["slow"].why_not
    assert cells["fast"].plan is not None


def test_an_unquoted_no_is_a_setting_as_it_is_written(tmp_path: Path) -> None:
    text = STUDY.replace(
        "slow: {producers.rate: 100/s}",
        "slow: {broker: redis, producers.rate: 100/s, broker_settings.redis.appendonly: {quick: no}}",
    )
    cells = planned_cells(load_study(write_study(tmp_path, text)), "quick", plan)
    assert cells["slow"].one().broker_settings == {"appendonly": "no"}


def test_rates_follow_the_calibration() -> None:
    assert calibrated_rate("0.7 of calibrated", 123_456.0) == "86400/s"
    assert calibrated_rate("5_000/s", 123_456.0) == "5_000/s"


def test_what_init_writes_is_a_study_that_plans(tmp_path: Path) -> None:
    write_template(tmp_path / "My Study")
    study = load_study(tmp_path / "My Study")
    assert study.name == "my-study"
    assert [c.id for c in study.claims] == ["twice-as-much", "keeps-up"]
    for scale in study.scales():
        assert all(c.plan is not None for c in planned_cells(study, scale, plan).values())
    with pytest.raises(UserError, match="already exists"):
        write_template(tmp_path / "My Study")


def test_a_study_is_found_by_name_or_folder(tmp_path: Path) -> None:
    assert find_study(str(write_study(tmp_path / "s"))).name == "tiny"
    with pytest.raises(NotFoundError, match="nowhere"):
        find_study("nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"has no study\.yaml"):
        find_study(str(tmp_path / "empty"))


@pytest.mark.parametrize("name", names())
def test_shipped_studies_are_sound_at_every_scale(name: str) -> None:
    study: Study = find_study(name)
    for scale in study.scales():
        assert planned_cells(study, scale, plan)


def test_the_page_about_studies_names_every_field_measure_and_verdict() -> None:
    from brokerlab.model.claims import KINDS, SAME, VERDICTS
    from brokerlab.studies.fields import ClaimFields, Experiment, Figure, Requires, Scale, StudyFields

    page = (Path(__file__).parents[3] / "docs" / "studies.md").read_text()
    fields = [n for m in (StudyFields, ClaimFields, Experiment, Figure, Requires, Scale) for n in m.model_fields]
    for name in (*fields, *KINDS, *SAME, *VERDICTS):
        assert name in page, name
    (requires,) = [line for line in page.split("\n- ") if line.startswith("**`requires`**")]
    for name in Requires.model_fields:  # words such as `driver_path` stand elsewhere with another meaning
        assert name in requires.partition("\n\n")[0], name


def test_the_page_about_studies_lists_those_that_ship_with_their_claims() -> None:
    page = (Path(__file__).parents[3] / "docs" / "studies.md").read_text()
    studies = [find_study(name) for name in names()]
    for study in studies:
        added = len(study.ours())
        assert f"| `{study.name}` | {len(study.claims) - added} | {added} |" in page
    assert count_line(studies) in page
