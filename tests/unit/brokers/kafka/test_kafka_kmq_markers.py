from __future__ import annotations

from brokerlab.brokers.kafka.kmq.markers import (
    END,
    OpenMessages,
    copy_headers,
    is_markers_topic_of,
    marker_key,
    markers_topic,
    origin,
    start_marker,
)


def opened(*offsets: int, timeout_ms: int = 1000, written_ms: int = 0) -> OpenMessages:
    """One start marker for each, one millisecond apart."""
    known = OpenMessages()
    for i, offset in enumerate(offsets):
        known.read(marker_key(0, offset), start_marker(timeout_ms), written_ms + i, i)
    return known


def test_markers_have_the_binary_form_of_kmq() -> None:
    assert marker_key(3, 258) == bytes([0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2])
    assert start_marker(10_000) == bytes([1]) + (10_000).to_bytes(8)
    assert bytes([0]) == END


def test_a_message_is_overdue_at_its_timeout_and_not_before() -> None:
    known = opened(7, 8)
    known.clock_ms = 999
    assert known.overdue() == []
    known.clock_ms = 1000
    assert known.overdue() == [7]
    known.clock_ms = 1001
    assert known.overdue() == [7, 8]


def test_an_acknowledged_message_is_never_overdue_whatever_the_order() -> None:
    known = opened(5, 6, 7)
    known.read(marker_key(0, 6), END, 10, 3)
    known.clock_ms = 10**9
    assert known.overdue() == [5, 7]
    known.read(marker_key(0, 99), END, 10, 4)  # an end without a start: read from in between
    assert len(known) == 2


def test_while_old_markers_are_read_the_clock_stands_where_they_were_written() -> None:
    """A tracker that comes late must not send again what was acknowledged in time, further on in the markers."""
    known = opened(1, written_ms=1000)
    assert known.clock_ms == 1000
    assert known.overdue() == []
    known.read(marker_key(0, 1), END, 1500, 1)
    known.clock_ms = 10**9
    assert known.overdue() == []


def test_a_start_marker_written_twice_counts_from_the_first() -> None:
    known = opened(1)
    known.read(marker_key(0, 1), start_marker(1000), 600, 1)
    known.clock_ms = 1000
    assert known.overdue() == [1]
    assert known.resume_at() == 0


def test_a_new_tracker_begins_at_the_oldest_open_start() -> None:
    known = opened(10, 11, 12)
    assert known.resume_at() == 0
    known.read(marker_key(0, 10), END, 10, 3)
    assert known.resume_at() == 1
    known.closed(11)
    known.closed(12)
    assert known.resume_at() == 4, "nothing is open: behind the last marker read"


def test_markers_topics_belong_to_one_destination_and_group() -> None:
    topic = markers_topic("orders", "g1")
    assert is_markers_topic_of(topic, "orders")
    assert not is_markers_topic_of(topic, "order")
    assert not is_markers_topic_of("orders", "orders")
    assert topic != markers_topic("orders", "g2")


def test_a_copy_says_how_often_for_whom_and_for_what() -> None:
    headers = dict(copy_headers(2, "g1", 2**40))
    assert headers["kmq-redelivery-count"] == b"\x02"
    assert headers["kmq-redelivered-to"] == b"g1"
    assert origin(headers["kmq-redelivered-from"]) == 2**40
    assert dict(copy_headers(1000, "g", 0))["kmq-redelivery-count"] == b"\x7f"
