from __future__ import annotations

import os
import signal
import threading

import pytest

from brokerlab.interrupts import signals_interrupt

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
