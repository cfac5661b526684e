"""A process that did not run notices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

STOPPED_S = 1.0
CHILD = """
import sys
from brokerlab.agent.pulse import Pulse
pulse = Pulse()
print("ready", flush=True)
sys.stdin.readline()
print(pulse.take(), pulse.take(), flush=True)
"""


def test_a_stopped_process_knows_for_how_long() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGSTOP)
        begin = time.monotonic()
        while time.monotonic() - begin < STOPPED_S:
            time.sleep(0.05)
        stopped_s = time.monotonic() - begin
        os.kill(child.pid, signal.SIGCONT)
        time.sleep(0.5)  # at least one beat
        child.stdin.write("now\n")
        child.stdin.flush()
        longest, after = map(int, child.stdout.readline().split())
    assert longest / 1e9 > stopped_s - 0.3
    assert after == 0, "each pause is given once"
