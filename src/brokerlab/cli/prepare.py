"""What a run needs on this machine, fetched before it starts: a run must not end in "no Java for the analysis"."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brokerlab.install.java import Java
    from brokerlab.model.listener import RunListener
    from brokerlab.model.plan import RunPlan


def prepare(plan: RunPlan, say: RunListener) -> Java:
    """Install the plan's brokers (those the user does not run) and a Java for Spark; what is there stays as it is.
    Before that, secrets are asked for: one that is not there should cost nobody a download."""
    from brokerlab.brokers.registry import broker_named
    from brokerlab.secrets import resolvable

    resolvable(cell.security.password for cell in plan.cells if cell.security is not None)

    for name in dict.fromkeys(cell.broker for cell in plan.cells if not cell.endpoint):
        front = broker_named(name)
        if not front.installation().installed:
            say.stage(f"installing {name}")
            front.install(lambda what, done: say.progress(done, what))
    return java_for_spark(say)


def java_for_spark(say: RunListener) -> Java:
    from brokerlab.install.java import find_java, need_java

    found = find_java()
    if found is not None:
        return found
    say.stage("installing a Java runtime")
    return need_java(lambda what, done: say.progress(done, what))
