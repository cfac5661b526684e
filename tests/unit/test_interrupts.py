from __future__ import annotations

import os
import signal
import sys
import threading
import time
import weakref

import pytest

from brokerlab.interrupts import signals_interrupt

DEADLINE_S = 60.0
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", NUMBERS)
def test_each_signal_ends_the_block_and_means_what_it_meant_before_afterwards(number: signal.Signals) -> None:
    before = [signal.getsignal(n) for n in NUMBERS]
    with pytest.raises(KeyboardInterrupt), signals_interrupt():
        os.kill(os.getpid(), number)
    assert [signal.getsignal(n) for n in NUMBERS] == before


def test_another_thread_changes_nothing() -> None:
    before = [signal.getsignal(n) for n in NUMBERS]
    within: list[object] = []

    def block() -> None:
        with signals_interrupt():
            within.extend(signal.getsignal(n) for n in NUMBERS)

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert within == before


class Thing:
    """Something that a weak reference can point to."""


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_that_python_would_forget_ends_the_block_all_the_same(number: signal.Signals) -> None:
    """What a callback of a weak reference raises is printed and forgotten, as it is while a process is forked."""
    hook, things = sys.unraisablehook, [Thing()]
    forgetful = weakref.ref(things[0], lambda _: signal.raise_signal(number))

    def block() -> None:
        with signals_interrupt() as came:
            things.clear()
            assert came.is_set()
            time.sleep(DEADLINE_S)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert forgetful() is None
    assert sys.unraisablehook is hook
