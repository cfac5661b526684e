"""Measures and ranges as people write them."""

from __future__ import annotations

import math

import pytest

from brokerlab.model.claims import KINDS, Window
from brokerlab.studies.language import LanguageError, parse_bound, parse_measure

CELLS = ("slow", "fast-1", "fast-16k", "size-1", "size-2", "size-3")
ABOVE = parse_bound("> 1")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("> 1", (1.01, 50), (1.0, 0.5)),
        (">= 1", (1.0, 50), (0.99,)),
        ("at least 2", (2.0,), (1.99,)),
        ("above -1", (0.0,), (-1.0,)),
        ("below 1_000", (999.0,), (1000.0,)),
        ("at most 0.5", (0.5,), (0.51,)),
        ("0.95 to 1.05", (0.95, 1.0, 1.05), (0.94, 1.06)),
        ("== 0", (0.0,), (0.1, -0.1)),
    ],
)
def test_a_range_contains_what_it_says(text: str, inside: tuple[float, ...], outside: tuple[float, ...]) -> None:
    bound = parse_bound(text)
    assert all(bound.contains(v) for v in inside)
    assert not any(bound.contains(v) for v in outside)


def test_an_interval_is_inside_outside_or_across() -> None:
    bound = parse_bound("0.9 to 1.1")
    assert bound.place(0.95, 1.05) == "inside"
    assert bound.place(0.8, 1.0) == "across"
    assert bound.place(0.5, 2.0) == "across"
    assert bound.place(1.2, 1.3) == bound.place(0.1, 0.2) == "outside"
    assert ABOVE.place(0.5, 1.0) == "outside"
    assert ABOVE.place(1.0, 1.5) == "across"
    assert parse_bound("== 0").place(0.0, 0.0) == "inside"


@pytest.mark.parametrize("text", ["1", "> x", "2 to 1", "around 1", "", "> 1 and < 2"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(LanguageError):
        parse_bound(text)


def test_every_measure_can_be_written() -> None:
    written = {
        "ratio": "ratio(fast-1, slow, sent_per_s)",
        "level": "level(slow, lost)",
        "share": "share(slow, sent_per_s, configured)",
        "overhead": "overhead(slow, sent_bytes_per_s)",
        "during": "during(slow, publish_latency_p99_ns, 10s to 20s, 0s to 500ms)",
        "bucketed": "bucketed(slow, end_to_end_latency_p95_ns, 50ms)",
        "spread": "spread(size-*, sent_per_s)",
        "flatness": "flatness(size-1, size-3, sent_per_s)",
        "peak": "peak(size-*, sent_per_s)",
        "rank": "rank(size-3, size-1, slow, sent_per_s)",
    }
    assert written.keys() == KINDS.keys()
    found = {kind: parse_measure(text, ABOVE, CELLS)[0] for kind, text in written.items()}
    assert all(part.kind == kind and part.text == written[kind] for kind, part in found.items())
    assert found["spread"].cells == ("size-1", "size-2", "size-3")
    assert found["rank"].cells == ("size-3", "size-1", "slow")
    assert found["share"].of == "configured"
    assert found["during"].windows == (Window(10, 20), Window(0, 0.5))
    assert found["bucketed"].bucket_ns == 50_000_000
    assert found["ratio"].bound is ABOVE


def test_all_has_parts_with_ranges_of_their_own() -> None:
    one, two = parse_measure("all(ratio(fast-1, slow, sent_per_s) > 4,\n  level(slow, lost) == 0)", None, CELLS)
    assert (one.bound.low, one.bound.high) == (4, math.inf)
    assert (two.bound.low, two.bound.high) == (0, 0)
    same, other = parse_measure("all(ratio(fast-1, slow, sent_per_s), level(slow, lost) == 0)", ABOVE, CELLS)
    assert (same.bound.text, other.bound.text) == ("> 1", "== 0")


@pytest.mark.parametrize(
    ("text", "said", "nearest"),
    [
        ("ration(fast-1, slow, sent_per_s)", "no measure is called ration (character 1)", "ratio"),
        ("ratio(fast1, slow, sent_per_s)", "no cell is called fast1 (character 7)", "fast-1"),
        ("ratio(fast-1, slow, sent_pers)", "no metric is called sent_pers (character 21)", "sent_per_s"),
        ("share(slow, sent_per_s, configurd)", "no metric is called configurd (character 25)", "configured"),
        ("ratio(fast-1 slow, sent_per_s)", "'slow' at character 14: a comma is missing", None),
        ("ratio(fast-1, slow, sent_per_s", "must have ')' at character 31, found the end", None),
        ("ratio(fast-1, slow, sent_per_s) level(slow, lost)", "", None),
        ("ratio(fast-1, sent_per_s)", "names 1 different cells", None),
        ("ratio(fast-1, fast-1, sent_per_s)", "names 1 different cells", None),
        ("rank(slow, fast-1, sent_per_s)", "must be rank(a, b, ..., metric)", None),
        ("ratio(, slow, sent_per_s)", "an argument is missing at character 7", None),
        ("ratio(fast-1, slow, sent_per_s) + 1", "'+' at character 33 is not expected", None),
        ("__import__('os')", "is not expected in a measure", None),
        ("during(slow, lost, 1s to 2s, 0s to 1s)", "no metric is called lost second by second", None),
        ("during(slow, sent_per_s, 2s to 1s, 0s to 1s)", "must end after it begins", None),
        ("during(slow, sent_per_s, 2 to 1, 0s to 1s)", "must be a window such as 10s to 20s", None),
        ("bucketed(slow, sent_per_s, 50ms)", "no metric is called sent_per_s (character 16)", None),
        ("bucketed(slow, end_to_end_latency_p95_ns, wide)", "must be the width of a bucket, such as 50ms", None),
        ("bucketed(slow, end_to_end_latency_p95_ns)", "must be bucketed(a, metric, 50ms)", None),
        ("rank(*, sent_per_s, while end_to_end_latency_p95_ns under 5s)", "must be like: while ", None),
        (
            "rank(*, sent_per_s, while end_to_end_latency_p9_ns below 5s)",
            "no metric is called",
            "end_to_end_latency_p99_ns",
        ),
        ("rank(*, sent_per_s, while end_to_end_latency_p95_ns below 5)", "'5' at character 59 must be", None),
        ("all(ratio(fast-1, slow, sent_per_s)", "must have ')'", None),
        ("all()", "", None),
    ],
)
def test_a_bad_measure_names_the_place_and_the_nearest_name(text: str, said: str, nearest: str | None) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_measure(text, ABOVE, CELLS)
    assert said in str(caught.value)
    assert caught.value.nearest == nearest


def test_a_measure_without_any_range_is_refused() -> None:
    with pytest.raises(LanguageError, match="has no range"):
        parse_measure("ratio(fast-1, slow, sent_per_s)", None, CELLS)
