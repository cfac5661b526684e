"""native/border.h is where prototypes and layouts stand; what it says is what Python calls and reads."""

from __future__ import annotations

import ctypes

import pytest

from brokerlab.native import library, why_not
from brokerlab.native.border import Border, border
from brokerlab.native.loader import shape

HEADER = """
/* A comment; with a semicolon */
#pragma GCC visibility push(default)
typedef struct bl_opaque bl_opaque;
typedef int64_t bl_function(void *client, int64_t n);
typedef struct {
    int32_t number, other; /* two */
    const uint8_t *data, *end;
    bl_function *function;
} bl_known;
void bl_nothing(void);
const char *bl_words(const bl_opaque *, int code);
int64_t bl_many(const char **names, char *why, size_t why_size, uint64_t *addresses,
                struct pollfd *to);
"""
P = ctypes.c_void_p


def test_prototypes_are_as_declared() -> None:
    assert Border(HEADER).prototypes == {
        "bl_nothing": (None, ()),
        "bl_words": (ctypes.c_char_p, (P, ctypes.c_int)),
        "bl_many": (ctypes.c_int64, (P, ctypes.c_char_p, ctypes.c_size_t, P, P)),
    }


def test_layouts_are_as_declared_and_have_no_other_fields() -> None:
    known = Border(HEADER).structures["bl_known"]
    fields = [("number", ctypes.c_int32), ("other", ctypes.c_int32), ("data", P), ("end", P), ("function", P)]
    assert known._fields_ == fields
    with pytest.raises(AttributeError):
        known().numbr = 1


@pytest.mark.parametrize(
    "odd",
    [
        "double bl_half(int n);",
        "int bl_array(int n[3]);",
        "extern int bl_count;",
        "typedef struct { float x; } s;",
        "typedef struct { int n[3]; } s;",
    ],
)
def test_what_cannot_be_read_is_refused(odd: str) -> None:
    with pytest.raises(ValueError, match=r"native/border\.h"):
        Border(odd)


@pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")
def test_the_compiler_has_the_same_layouts() -> None:
    found = shape()
    for name in ("sender", "outcome_row", "sequence_row", "message_row"):
        assert found[f"{name}_bytes"] == ctypes.sizeof(border().structures[f"bl_{name}"])


@pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")
def test_nothing_else_is_exported() -> None:
    lib = library()
    assert lib is not None
    with pytest.raises(AttributeError):
        _ = lib.nats_read  # not part of the border
