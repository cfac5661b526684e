"""Prototypes and layouts of the C library, taken from native/border.h: they stand in one place.

The header keeps to plain forms (see its first lines). What this cannot read is refused, never guessed.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

from brokerlab.native.build import source_directory

_NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint8_t": ctypes.c_uint8,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^\s*#.*$", re.MULTILINE)
_STRUCT = re.compile(r"typedef struct \{([^}]*)\} (\w+)$")
_PROTOTYPE = re.compile(r"([\w\s]+?[\s*]+)(bl_\w+)\(([\w\s*,]*)\)$")
_FORWARD = re.compile(r"typedef (struct \w+ \w+|\w+ \w+\([^()]*\))$")  # an opaque struct, the type of a function

Prototype = tuple[Any, tuple[Any, ...]]  # result, arguments


def _statements(text: str) -> list[str]:
    """Declarations without comments and directives, each on one line; a struct with its fields is one."""
    plain = _DIRECTIVE.sub("", _COMMENT.sub("", text))
    found, depth, begun = [], 0, 0
    for at, character in enumerate(plain):
        depth += (character == "{") - (character == "}")
        if character == ";" and depth == 0:
            found.append(" ".join(plain[begun:at].split()))
            begun = at + 1
    return found


def _type(declared: str) -> Any:
    """The ctypes type of a declaration without its name: `const char *`, `int64_t`, `struct pollfd *`."""
    stars = declared.count("*")
    words = [w for w in declared.replace("*", " ").split() if w != "const"]
    if stars:
        return ctypes.c_char_p if stars == 1 and words == ["char"] else ctypes.c_void_p
    if len(words) != 1 or words[0] not in _NUMBERS:
        raise ValueError(f"native/border.h: no such type: {declared!r}")
    return _NUMBERS[words[0]]


def _argument(declared: str) -> Any:
    """The same with a name behind it, where it has one: `const char *why`, `bl_sender *`."""
    pointer, star, _ = declared.rpartition("*")
    return _type(pointer + star if star else declared.rpartition(" ")[0])


def _prototype(result: str, arguments: str) -> Prototype:
    of = () if arguments == "void" else tuple(_argument(a.strip()) for a in arguments.split(","))
    return None if result.strip() == "void" else _type(result), of


def _fields(body: str) -> list[tuple[str, Any]]:
    fields = []
    for line in filter(None, (part.strip() for part in body.split(";"))):
        kind, _, rest = line.removeprefix("const ").partition(" ")
        for declared in rest.split(","):
            star, name = re.fullmatch(r"\s*(\**)(.*)", declared).groups()  # type: ignore[union-attr] # matches anything
            if not name.isidentifier():
                raise ValueError(f"native/border.h: cannot be read: {line!r}")
            fields.append((name, _type(f"{kind} {star}")))
    return fields


class Border:
    """One header, understood."""

    def __init__(self, text: str) -> None:
        self.prototypes: dict[str, Prototype] = {}
        self.structures: dict[str, type[ctypes.Structure]] = {}
        for statement in _statements(text):
            if found := _STRUCT.match(statement):
                self.structures[found[2]] = _structure(found[2], _fields(found[1]))
            elif _FORWARD.match(statement):
                continue
            elif found := _PROTOTYPE.match(statement):
                self.prototypes[found[2]] = _prototype(found[1], found[3])
            else:
                raise ValueError(f"native/border.h: cannot be read: {statement!r}")


def _structure(name: str, fields: list[tuple[str, Any]]) -> type[ctypes.Structure]:
    """Without room for other attributes: a field that C does not have cannot be set by mistake."""
    return type(name, (ctypes.Structure,), {"_fields_": fields, "__slots__": ()})


@cache
def border() -> Border:
    """The border of the sources that the library is built from."""
    return Border((source_directory() / "border.h").read_text())
