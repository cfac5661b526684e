"""What the lab needs on this machine: brokers, a Java, Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from brokerlab.brokers import registry
from brokerlab.model.listener import SILENT, RunListener

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from brokerlab.brokers.contract import Broker, Installation
    from brokerlab.install.java import Java
    from brokerlab.pipeline.profiles import SparkSettings


def install(broker: str, *, listener: RunListener = SILENT) -> Installation:
    """Fetch a broker into the cache, verify and unpack it. Does nothing for what is there already."""
    front = registry.broker_named(broker)
    listener.stage(f"installing {broker}")
    return front.install(lambda what, done: listener.progress(done, what))


def brokers() -> list[tuple[Broker, Installation]]:
    """Every broker there is, with what is installed of it here."""
    fronts = [registry.broker_named(name) for name in registry.BROKERS]
    return [(front, front.installation()) for front in fronts]


def spark_settings(profile: str | None = None, master: str | None = None, conf: Sequence[str] = ()) -> SparkSettings:
    """Where Spark runs, checked: a profile (`local`, `cluster`), a master and settings as KEY=VALUE; what is not given
    comes from the environment. UserError for what may not be set."""
    from brokerlab.pipeline.profiles import spark_settings as checked

    return checked(profile, master, conf)


def spark_session(listener: RunListener, settings: SparkSettings | None = None) -> AbstractContextManager[SparkSession]:
    """A session for the length of a block, with a Java that is fetched where there is none."""
    from brokerlab.install.java import java_home_for_spark
    from brokerlab.pipeline.session import session_is_running
    from brokerlab.pipeline.session import spark_session as session_with

    java_home = java_home_for_spark(java(listener))
    if not session_is_running():
        listener.stage("starting Spark")
    return session_with(java_home, settings)


def java(listener: RunListener) -> Java:
    """The Java of this machine that Spark can use, fetched where there is none."""
    from brokerlab.install.java import find_java, need_java

    found = find_java()
    if found is not None:
        return found
    listener.stage("installing a Java runtime")
    return need_java(lambda what, done: listener.progress(done, what))
