from __future__ import annotations

from brokerlab.load.drain import QUIET_NS, Progress, drained

ACKNOWLEDGED = {(0, 0): 9, (0, 1): 4}


def progress(highest: list[int], remaining: list[int | None], quiet_ns: int = QUIET_NS, received: int = 0) -> Progress:
    return Progress(highest=highest, remaining=remaining, quiet_ns=quiet_ns, received=received)


def test_complete_when_every_lane_reached_its_last_acknowledged_message() -> None:
    assert drained(ACKNOWLEDGED, 2, [progress([9, 4], [None])]).complete


def test_competing_consumers_are_looked_at_together() -> None:
    assert drained(ACKNOWLEDGED, 2, [progress([9, -1], [None]), progress([-1, 4], [None])]).complete


def test_not_complete_while_messages_still_arrive_even_beyond_the_last() -> None:
    assert not drained(ACKNOWLEDGED, 2, [progress([9, 4], [0], quiet_ns=QUIET_NS - 1)]).complete


def test_a_lost_last_message_does_not_keep_it_open_when_the_broker_holds_nothing_more() -> None:
    verdict = drained(ACKNOWLEDGED, 2, [progress([9, 3], [0])])
    assert verdict.complete
    assert "1 lanes end before" in verdict.because


def test_a_broker_that_cannot_say_what_is_left_leaves_it_open() -> None:
    assert not drained(ACKNOWLEDGED, 2, [progress([9, 3], [None])]).complete


def test_a_backlog_leaves_it_open_and_is_told() -> None:
    verdict = drained(ACKNOWLEDGED, 2, [progress([2, 3], [11])])
    assert not verdict.complete
    assert "11 messages are waiting" in verdict.because


def test_nobody_reporting_is_never_a_pass() -> None:
    assert not drained({}, 2, []).complete


def test_a_hole_before_the_last_message_leaves_it_open_while_the_broker_holds_something() -> None:
    verdict = drained(ACKNOWLEDGED, 2, [progress([9, 4], [2], received=13)], messages=15)
    assert not verdict.complete
    assert verdict.because == "13 of 15 messages received; the broker may deliver 2 again"


def test_duplicates_may_hide_a_hole() -> None:
    assert not drained(ACKNOWLEDGED, 2, [progress([9, 4], [1], received=16)], messages=15).complete


def test_a_hole_is_final_when_the_broker_holds_nothing_more_or_cannot_say() -> None:
    for remaining in (0, None):
        assert drained(ACKNOWLEDGED, 2, [progress([9, 4], [remaining], received=13)], messages=15).complete


def test_what_the_broker_has_not_yet_counted_as_acknowledged_does_not_matter_when_all_was_received() -> None:
    both = [progress([9, -1], [3], received=10), progress([-1, 4], [3], received=5)]
    assert drained(ACKNOWLEDGED, 2, both, messages=15).complete
