"""Loads the C library and declares its functions.

Pointers to numpy memory are passed as plain integers (`address(array)`), taken once where the array is made: asking
numpy for them in a hot loop costs more than the call.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, addressof, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerlab.errors import MachineError
from brokerlab.native.build import built_library

P, I32, I64 = c_void_p, c_int32, c_int64
_BYTE: Any = c_char.from_buffer

_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "bl_now_ns": (I64, ()),
    "bl_prepare_pacing": (None, ()),
    "bl_sleep_until": (I64, (I64,)),
    "bl_checksum": (c_uint64, (P, I64)),
    "bl_body_sum": (c_uint64, (P, I64)),
    "bl_stamp": (None, (P, P, P, I64, I64, P, I64, I64, P, I64, P, P, P)),
    "bl_unstamp": (None, (P, I64, I64, P)),
    "bl_slots": (I32, (P,)),
    "bl_slot_copy": (None, (P, I32, P, P, P, P, P)),
    "bl_ledger_start": (None, (P, I64, I64)),
    "bl_producer_ledger_new": (P, (I32, I32, I64, I32)),
    "bl_producer_ledger_free": (None, (P,)),
    "bl_due": (None, (P, P, P, I64, I64, I64)),
    "bl_sent": (None, (P, I64, P, P, P, P, I64, I64)),
    "bl_settled": (I64, (P, P, P, P, I64)),
    "bl_expire": (I64, (P, I64, I64)),
    "bl_room": (I64, (P,)),
    "bl_sender_step": (c_int, (P, I64, I64)),
    "bl_senders_run": (I64, (P, I64, I64, I64, P, P)),
    "bl_producer_totals": (None, (P, P)),
    "bl_producer_rows": (None, (P, POINTER(P), POINTER(I64), POINTER(P), POINTER(I64))),
    "bl_producer_clear": (None, (P,)),
    "bl_consumer_ledger_new": (P, (c_uint32, I32, I32, I32, I32)),
    "bl_consumer_ledger_free": (None, (P,)),
    "bl_received": (None, (P, P, P, P, P, I64, I64, I32)),
    "bl_consumer_totals": (None, (P, P)),
    "bl_highest": (P, (P,)),
    "bl_consumer_rows": (None, (P, POINTER(P), POINTER(I64), POINTER(P), POINTER(I64))),
    "bl_consumer_clear": (None, (P,)),
    "bl_kafka_open": (c_int, (c_char_p, c_char_p, c_size_t)),
    "bl_kafka_error_name": (c_char_p, (c_int,)),
    "bl_kafka_producer_new": (P, (P, P, c_int, P, c_int, c_int, c_char_p, c_size_t)),
    "bl_kafka_send": (I64, (P, P, P, P, P, P, I64, I64)),
    "bl_kafka_settled": (I64, (P, P, P, P, I64)),
    "bl_kafka_flush": (None, (P, c_int)),
    "bl_kafka_producer_free": (None, (P,)),
    "bl_kafka_consumer_new": (P, (P, P, c_int, P, c_int, c_int, I64, c_char_p, c_size_t)),
    "bl_kafka_assign": (c_int, (P, c_int, c_int, P)),
    "bl_kafka_receive": (I64, (P, c_int, I64, P, P, P, P)),
    "bl_kafka_release": (None, (P,)),
    "bl_kafka_positions": (P, (P,)),
    "bl_kafka_commit": (c_int, (P, P, c_int)),
    "bl_kafka_consumer_free": (None, (P,)),
    "bl_crc32c": (c_uint32, (P, I64, c_int)),
    "bl_batch_read": (c_int, (P, I64, c_int, I64, P, P, P, I64, P)),
    "bl_fetch_new": (P, (c_char_p, P, c_int, c_int, P)),
    "bl_fetch_free": (None, (P,)),
    "bl_fetch_attach": (None, (P, c_int, c_int)),
    "bl_fetch_lead": (None, (P, c_int, c_int)),
    "bl_fetch_seek": (None, (P, c_int, I64)),
    "bl_fetch_is_up": (c_int, (P, c_int)),
    "bl_fetch_positions": (P, (P,)),
    "bl_fetch_errors": (P, (P,)),
    "bl_fetch_why": (c_char_p, (P,)),
    "bl_fetch_receive": (I64, (P, I64, I64, P, P, P, P)),
    "bl_batch_write": (I64, (P, P, P, P, P, I64, P, I64)),
    "bl_produce_new": (P, (c_char_p, P, c_int, c_int, P)),
    "bl_produce_free": (None, (P,)),
    "bl_produce_attach": (None, (P, c_int, c_int)),
    "bl_produce_lead": (None, (P, c_int, c_int)),
    "bl_produce_is_up": (c_int, (P, c_int)),
    "bl_produce_needs_care": (c_int, (P,)),
    "bl_produce_error": (c_int, (P, c_int)),
    "bl_produce_why": (c_char_p, (P,)),
    "bl_produce_unsettled": (I64, (P,)),
    "bl_produce_send": (I64, (P, P, P, P, P, P, I64, I64)),
    "bl_produce_settled": (I64, (P, P, P, P, I64)),
    "bl_produce_watch": (I64, (P, P, I64, P)),
    "bl_produce_flush": (None, (P, I64)),
    "bl_nats_attach": (None, (P, c_int)),
    "bl_nats_greet": (None, (P, I64)),
    "bl_nats_hang_up": (None, (P,)),
    "bl_nats_state": (c_int, (P,)),
    "bl_nats_why": (c_char_p, (P,)),
    "bl_nats_flush": (None, (P, I64)),
    "bl_nats_producer_new": (P, (c_char_p, I64, P, c_int, I64, I64)),
    "bl_nats_producer_free": (None, (P,)),
    "bl_nats_send": (I64, (P, P, P, P, P, P, I64, I64)),
    "bl_nats_settled": (I64, (P, P, P, P, I64)),
    "bl_nats_answer": (c_char_p, (P, I32, P)),
    "bl_nats_consumer_new": (P, (c_char_p, I64, P, c_int, c_char_p, I64, I64, c_int)),
    "bl_nats_consumer_free": (None, (P,)),
    "bl_nats_receive": (I64, (P, I64, I64, P, P, P, P, P)),
    "bl_nats_acknowledge": (None, (P, I64, I64)),
    "bl_nats_give_back": (None, (P, I64)),
}


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


@cache
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    if os.environ.get("BROKERLAB_NATIVE") == "0":
        return None, "turned off by BROKERLAB_NATIVE=0"
    try:
        lib = ctypes.CDLL(str(built_library()))
    except (MachineError, OSError) as e:
        return None, str(e)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib, ""


def library() -> ctypes.CDLL | None:
    """The loaded library, or None."""
    return _loaded()[0]


def why_not() -> str:
    """Why there is no library; empty when there is one."""
    return _loaded()[1]
