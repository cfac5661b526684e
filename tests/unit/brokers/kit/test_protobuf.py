"""Protocol Buffers: what is written can be read; what is damaged is refused, and nothing else happens."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.protobuf import (
    UnreadableMessageError,
    field,
    fields_of,
    message,
    number_in,
    text_in,
    varint,
)

FIELDS = st.dictionaries(st.integers(1, 200), st.one_of(st.integers(1, 2**64 - 1), st.binary(min_size=1, max_size=300)))


@given(FIELDS)
def test_what_is_written_is_read(fields: dict[int, int | bytes]) -> None:
    assert fields_of(message(fields.items())) == fields


def test_the_bytes_are_those_of_the_published_examples() -> None:
    """From the documentation of the format: field 1 = 150; field 2 = "testing"."""
    assert field(1, 150) == b"\x08\x96\x01"
    assert field(2, "testing") == b"\x12\x07testing"
    assert varint(0) == b"\0"
    assert varint(300) == b"\xac\x02"


def test_a_missing_field_has_the_value_that_is_not_written() -> None:
    assert message([(1, 0), (2, ""), (3, b"")]) == b""
    assert (text_in({}, 1), number_in({}, 1)) == ("", 0)


def test_fields_of_fixed_width_are_read_over() -> None:
    assert fields_of(b"\x09" + bytes(8) + b"\x15" + bytes(4) + field(3, "x")) == {3: b"x"}


@given(FIELDS, st.integers(0), st.integers(0, 255))
def test_damage_never_raises_anything_else(fields: dict[int, int | bytes], where: int, value: int) -> None:
    data = bytearray(message(fields.items()))
    if data:
        data[where % len(data)] = value
    for some in (bytes(data), bytes(data[: where % (len(data) + 1)])):
        with suppress(UnreadableMessageError):
            fields_of(some)


@given(st.binary(max_size=60))
def test_noise_never_raises_anything_else(noise: bytes) -> None:
    with suppress(UnreadableMessageError):
        fields_of(noise)


@pytest.mark.parametrize("data", [b"\x08", b"\x0a\x05abc", b"\x0b", b"\x08" + b"\xff" * 11, b"\x09abc", b"\x02\x00"])
def test_what_ends_too_early_or_has_no_known_kind_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableMessageError):
        fields_of(data)


def test_a_field_of_the_other_kind_is_refused() -> None:
    with pytest.raises(UnreadableMessageError):
        text_in({1: 7}, 1)
    with pytest.raises(UnreadableMessageError):
        number_in({1: b"7"}, 1)
