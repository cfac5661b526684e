"""`python -m brokerlab.agent`: one load process. Plan and commands on standard input, events on standard output."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path

from brokerlab.agent.consuming import Consuming, HostedGroup
from brokerlab.agent.control import Control
from brokerlab.agent.evidence_process import EvidencePipe
from brokerlab.agent.notes import EvidenceNotes
from brokerlab.agent.pacer import prepare_pacing, sleeper
from brokerlab.agent.producing import Producing
from brokerlab.agent.receiver import Receiver
from brokerlab.agent.sender import Sender
from brokerlab.agent.sender_native import sender
from brokerlab.brokers.contract import Broker, Consumer
from brokerlab.brokers.registry import broker_named
from brokerlab.errors import BrokerError, BrokerlabError, ExitCode
from brokerlab.model.plan import AgentPlan, Role

CLOSE_S = 5.0
AGAIN_S = 0.2


def _end_soon(*_: object) -> None:
    """SIGTERM: the input is treated as ended, so the loop saves and ends; five seconds later the kernel ends us."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, sys.stdin.fileno())
    signal.alarm(5)


def subscribed(plan: AgentPlan, broker: Broker, number: int) -> Consumer:
    """A consumer. One that starts late may find a node down that is planned to come back: then it is tried again."""
    late = plan.consumers is not None and plan.consumers.starts_late
    until = time.monotonic() + (plan.outage_s if late else 0.0)
    while True:
        try:
            return broker.consumer(plan, number)
        except BrokerError:
            if time.monotonic() >= until:
                raise
        time.sleep(AGAIN_S)


def _hosted(plan: AgentPlan, broker: Broker, pipe: EvidencePipe) -> HostedGroup:
    receivers = [Receiver(plan, n, subscribed(plan, broker, n)) for n in plan.members]
    return HostedGroup(plan.group or "", receivers, EvidenceNotes(plan, pipe))


def work(plan: AgentPlan, control: Control) -> None:
    """From connecting to the last row of evidence on disk."""
    constants = {"run": plan.run, "cell": plan.cell, "repeat": plan.repeat, "agent": plan.agent}
    broker = broker_named(plan.broker)
    pipe = EvidencePipe(Path(plan.evidence_directory), plan.agent, constants, plan.attempt)
    try:
        loop: Producing | Consuming
        if plan.role is Role.PRODUCER:
            senders = [sender(plan, n, broker.producer(plan, n)) for n in plan.members]
            members: list[Sender] | list[Receiver] = senders
            loop = Producing(plan, senders, control, pipe, EvidenceNotes(plan, pipe), sleeper())
        else:
            hosted = [_hosted(of, broker, pipe) for of in plan.by_group()]
            members = [r for group in hosted for r in group.receivers]
            loop = Consuming(plan, hosted, control, pipe)
        pipe.wait_ready()
        control.say("ready", driver=members[0].client.path, pid=os.getpid(), writer_pid=pipe.pid)
        command = control.command(wait_s=3600)
        result: dict[str, object] = {}
        if command is not None and command["command"] == "start":
            gc.freeze()
            gc.disable()  # nothing here makes cycles per message; a collection is a pause of milliseconds
            result = loop.run(command["start_mono_ns"], command["unix_minus_mono_ns"])
        for member in members:
            member.close(time.monotonic_ns() + round(CLOSE_S * 1e9))
    finally:
        pipe.close()
    control.say("done", **result)


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's affair
    signal.signal(signal.SIGTERM, _end_soon)
    control = Control()
    line = control.read_line()
    if line is None:
        return ExitCode.USER
    plan = AgentPlan.model_validate_json(line)
    prepare_pacing()
    try:
        work(plan, control)
    except BrokerlabError as e:
        control.say("failed", kind=type(e).__name__, message=str(e), exit_code=int(e.exit_code))
        return e.exit_code
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
