"""Names of partitions, and numbers that servers give back."""

from __future__ import annotations

import pytest

from brokerlab.brokers.kit.names import belongs, of_partitions
from brokerlab.brokers.kit.numbers import number_in_text


def test_partitions_are_numbered_through_the_destinations() -> None:
    assert of_partitions(lambda d, p: f"{d}.{p}", ("a", "b"), 2) == ["a.0", "a.1", "b.0", "b.1"]
    assert of_partitions(lambda d, p: (d, p), (), 3) == []


@pytest.mark.parametrize(
    ("name", "mark", "ours"),
    [
        *(("d.0", ".", True), ("d.12", ".", True), ("d-p7", "-p", True)),
        *(("d.e.0", ".", False), ("dd.0", ".", False), ("d", ".", False), ("d.x", ".", False), ("d.", ".", False)),
        *(("d-p", "-p", False), ("d.7", "-p", False), ("d.-1", ".", False)),
    ],
)
def test_a_part_of_a_destination_is_known_by_its_name(name: str, mark: str, ours: bool) -> None:
    assert belongs(name, "d", mark) is ours


def test_numbers_have_as_many_digits_as_fit_into_64_bits() -> None:
    assert number_in_text(b"0") == 0
    assert number_in_text(b"9" * 18) == 10**18 - 1
    for text in (b"", b"-1", b"+1", b" 1", b"1_0", b"1e3", b"x", b"9" * 19, b"0" * 5000, "٣".encode()):
        with pytest.raises(OSError, match="unreadable"):
            number_in_text(text)
