"""The redelivery tracker of one group: a process that reads its markers and sends again what was not acknowledged.

`python -m brokerlab.brokers.kafka.kmq.tracker`, started by the group's first consumer. Standard input carries one line
(the consumer's plan, secrets by reference only) and is then held open: when it ends, so does the tracker, whatever
became of its parent.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.errors import BrokerError
from brokerlab.model.plan import AgentPlan

MODULE = "brokerlab.brokers.kafka.kmq.tracker"


class TrackerProcess:
    """The tracker as its consumer sees it."""

    def __init__(self, plan: AgentPlan) -> None:
        self._process = subprocess.Popen([sys.executable, "-m", MODULE], stdin=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        self._process.stdin.write(plan.model_dump_json() + "\n")
        self._process.stdin.flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """Raises BrokerError when it has ended: without it nothing comes again."""
        if self._process.poll() is not None:
            raise BrokerError(
                f"the redelivery tracker ended with {self._process.returncode}", hint="see the agent's log"
            )

    def stop(self, deadline_mono_ns: int) -> None:
        """Its place in the markers is saved before it ends, unless the deadline comes first."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(seconds_until(deadline_mono_ns, 0.1))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> int:
    from brokerlab.brokers.kafka.kmq.redelivery import Redelivery

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal reaches our parent, who ends us in order
    plan = AgentPlan.model_validate_json(sys.stdin.readline())
    ended = threading.Event()

    def await_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=await_the_end, daemon=True).start()
    try:
        redelivery = Redelivery(plan)
        while not ended.is_set():
            redelivery.step()
        redelivery.close()
    except BrokerError as e:
        print(f"redelivery tracker of {plan.group}: {e}", file=sys.stderr)
        return int(e.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
