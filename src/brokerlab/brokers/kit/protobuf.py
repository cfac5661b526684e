"""Protocol Buffers' wire format, as far as small messages need it.

Covered: fields of whole numbers, booleans, text and bytes by their numbers; fields of fixed width are read over. Not
covered: floats, negative and zigzag numbers, repeated and packed fields (the last value counts), groups.
"""

from __future__ import annotations

from collections.abc import Iterable

Value = int | bytes
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10
_VARINT_BITS, _NUMBER_BITS = 64, 63


class UnreadableMessageError(OSError):
    """What came is no message of this format."""


def varint(number: int) -> bytes:
    """A number that is not negative."""
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def field(number: int, value: int | str | bytes) -> bytes:
    """One field; nothing for the value that a missing field means."""
    if isinstance(value, int):
        return varint(number << 3 | _VARINT) + varint(value) if value else b""
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | _BYTES) + varint(len(data)) + data if data else b""


def message(fields: Iterable[tuple[int, int | str | bytes]]) -> bytes:
    return b"".join(field(number, value) for number, value in fields)


def fields_of(data: bytes) -> dict[int, Value]:
    """Values by field number. Raises UnreadableMessageError."""
    found: dict[int, Value] = {}
    at = 0
    while at < len(data):
        key, at = _varint_at(data, at)
        kind, number = key & 7, key >> 3
        if kind == _VARINT:
            found[number], at = _varint_at(data, at)
            continue
        length, at = _varint_at(data, at) if kind == _BYTES else (_width(kind), at)
        if number == 0 or at + length > len(data):
            raise UnreadableMessageError("unreadable message: a field ends behind it")
        if kind == _BYTES:
            found[number] = data[at : at + length]
        at += length
    return found


def _width(kind: int) -> int:
    if kind not in (_FIXED_64, _FIXED_32):
        raise UnreadableMessageError("unreadable message: a field of no known kind")
    return 8 if kind == _FIXED_64 else 4


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for i, byte in enumerate(data[at : at + _MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            if number >> _VARINT_BITS:
                break
            return number, at + i + 1
    raise UnreadableMessageError("unreadable message: a number without an end, or of more than 64 bits")


def text_in(fields: dict[int, Value], number: int) -> str:
    """Text of a field; empty where it is missing. Raises UnreadableMessageError."""
    value = fields.get(number, b"")
    if not isinstance(value, bytes):
        raise UnreadableMessageError("unreadable message: a number where text should be")
    return value.decode(errors="replace")


def number_in(fields: dict[int, Value], number: int) -> int:
    """Number of a field; 0 where it is missing. Raises UnreadableMessageError."""
    value = fields.get(number, 0)
    if not isinstance(value, int) or value >> _NUMBER_BITS:
        raise UnreadableMessageError("unreadable message: text, or a negative one, where a number should be")
    return value
