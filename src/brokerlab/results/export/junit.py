"""Runs as JUnit XML: what CI servers show as tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from brokerlab.results.analyzed import AnalyzedRun

Element = ElementTree.Element


def as_junit(runs: Sequence[AnalyzedRun]) -> str:
    """One suite for each run, of one test each for its delivery, the verdict on every cell and every objective. Invalid,
    violated and missed are failures; "cannot tell" is skipped, with the reason."""
    if len(runs) == 1:
        whole = _suite(runs[0])
    else:
        whole = Element("testsuites", name="brokerlab")
        whole.extend(map(_suite, runs))
    ElementTree.indent(whole)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(whole, encoding="unicode") + "\n"


def _suite(run: AnalyzedRun) -> Element:
    cases = list(_cases(run))
    suite = Element(
        "testsuite", name=f"brokerlab.{run.plan.name}", tests=str(len(cases)), errors="0",
        failures=str(sum(case.find("failure") is not None for case in cases)),
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
    )  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("run", run.plan.run), ("tag", run.plan.tag or ""), ("headline", run.verdict.headline)):
        ElementTree.SubElement(properties, "property", name=name, value=_printable(value))
    suite.extend(cases)
    return suite


def _cases(run: AnalyzedRun) -> Iterator[Element]:
    verdict = run.verdict
    counts = ", ".join(f"{n:,} {name}" for name, n in verdict.delivery.items())
    unknown = "" if "lost" in verdict.delivery else "skipped"
    said = "what was lost is not known: not every group was drained" if unknown else counts
    yield _case(run, "delivery", *(("failure", counts) if verdict.delivery_violated else (unknown, said)))
    labels = {c.cell: c.label for c in verdict.cells}
    for cell in verdict.cells:
        outcome = {"invalid": "failure", "cannot tell": "skipped"}.get(cell.verdict, "")
        yield _case(run, f"verdict: {cell.label}", outcome, cell.because or cell.verdict)
    for one in verdict.objectives:
        outcome = {"missed": "failure", "cannot tell": "skipped"}.get(one.met, "")
        yield _case(run, f"{one.text}: {labels.get(one.cell, one.cell)}", outcome, f"{one.met}: {one.value}")


def _case(run: AnalyzedRun, name: str, outcome: str, message: str) -> Element:
    case = Element("testcase", classname=f"brokerlab.{run.plan.name}", name=_printable(name))
    if outcome:
        ElementTree.SubElement(case, outcome, message=_printable(message))
    return case


def _printable(text: str) -> str:
    """XML 1.0 has no control characters, not even escaped."""
    return "".join(c if c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else " " for c in text)
