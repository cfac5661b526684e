"""Loads the C library and declares its functions, as native/border.h has them.

Pointers to numpy memory are passed as plain integers (`address(array)`), taken once where the array is made: asking
numpy for them in a hot loop costs more than the call.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from ctypes import addressof, c_char
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.errors import MachineError
from brokerlab.native.border import border
from brokerlab.native.build import built_library

_BYTE: Any = c_char.from_buffer


def address(array: npt.NDArray[Any]) -> int:
    """Where a C-contiguous array's memory begins. The caller keeps the array alive.

    Through the buffer protocol, a quarter of what numpy's own ways cost; those serve empty and read-only arrays.
    """
    try:
        return addressof(_BYTE(array))
    except (TypeError, ValueError):
        return int(array.__array_interface__["data"][0])


def copied(pointer: int | None, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A copy of `count` C structs as a structured array."""
    if not pointer or count == 0:
        return np.empty(0, dtype)
    raw = ctypes.string_at(pointer, count * dtype.itemsize)
    return np.frombuffer(raw, dtype)


def array_at(pointer: int, kind: Any, count: int) -> npt.NDArray[Any]:
    """An array of C's itself, not a copy: it lives as long as its owner."""
    return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(kind)), (count,))


def strings(values: Iterable[str]) -> Any:
    """An array of C strings."""
    encoded = [value.encode() for value in values]
    return (ctypes.c_char_p * len(encoded))(*encoded)


@cache
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    given = os.environ.get("BROKERLAB_NATIVE", "")
    if given == "0":
        return None, "turned off by BROKERLAB_NATIVE=0"
    try:
        lib = ctypes.CDLL(given if given.endswith(".so") else str(built_library()))
    except (MachineError, OSError) as e:
        return None, str(e)
    for name, (result, arguments) in border().prototypes.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib, ""


@cache
def shape() -> dict[str, int]:
    """Counts and sizes as the C compiler has them. Raises RuntimeError where a layout was read otherwise here."""
    lib = library()
    if lib is None:
        raise RuntimeError(f"no C library: {why_not()}")
    structures = border().structures
    read = structures["bl_shape"]()
    lib.bl_read_shape(ctypes.byref(read))
    found = {name: int(getattr(read, name)) for name, *_ in read._fields_}
    for name, there in found.items():
        here = structures.get(f"bl_{name.removesuffix('_bytes')}")
        if here is not None and ctypes.sizeof(here) != there:
            raise RuntimeError(f"{here.__name__} has {there} bytes in C and {ctypes.sizeof(here)} here")
    return found


def library() -> ctypes.CDLL | None:
    """The loaded library, or None."""
    return _loaded()[0]


def needed_library() -> ctypes.CDLL:
    """For a driver that was asked for where the library is there."""
    lib = library()
    if lib is None:
        raise RuntimeError(f"a driver in C was asked for where there is none: {why_not()}")
    return lib


def why_not() -> str:
    """Why there is no library; empty when there is one."""
    return _loaded()[1]
