"""Where Spark runs and with which settings: a profile for one machine, one for a cluster, and what a user may change.

Results do not depend on any of it: what could change them (time zone, ANSI mode, ...) is in session.SETTINGS for both.
"""

from __future__ import annotations

import difflib
import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from brokerlab.errors import UserError

Profile = Literal["local", "cluster"]
PROFILE_VARIABLE = "BROKERLAB_SPARK_PROFILE"
MASTER_VARIABLE = "BROKERLAB_SPARK_MASTER"
CONF_VARIABLE = "BROKERLAB_SPARK_CONF"
MEMORY_VARIABLE = "BROKERLAB_SPARK_DRIVER_MEMORY"
LOCAL_MASTER = "local[*]"
LOOPBACK = "127.0.0.1"
_LOCAL_CORES = re.compile(r"local\[([1-9]\d*)[\],]")  # local[4], local[4,2]

SETTINGS: dict[Profile, dict[str, str]] = {
    "local": {
        # Partitions are as many as cores (`values`): evidence is summarised where it is made, and 200 tasks would be all
        # overhead. That and joins with hints leave nothing to adapt but time.
        "spark.sql.adaptive.enabled": "false",
        # Large data goes through Arrow (`work`), where this changes nothing (docs/scaling.md). SQL is left with small tables of
        # a lake or a study, and there compiling code for each query takes longer than running it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.shuffle.compress": "false",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
    },
    "cluster": {
        # As many partitions as a large run needs; small ones are joined to fewer while the query runs.
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.shuffle.partitions": "64",
        "spark.shuffle.compress": "true",  # over a network, not over memory
        "spark.executor.processTreeMetrics.enabled": "false",
    },
}  # fmt: skip

# Names, or beginnings that end with a dot: size, place and network of the job, and access to file systems.
ALLOWED = (
    "spark.blockManager.port", "spark.cores.max", "spark.default.parallelism", "spark.driver.bindAddress",
    "spark.driver.blockManager.port", "spark.driver.cores", "spark.driver.host", "spark.driver.maxResultSize",
    "spark.driver.memory", "spark.driver.memoryOverhead", "spark.driver.port", "spark.dynamicAllocation.",
    "spark.eventLog.", "spark.executor.", "spark.executorEnv.", "spark.hadoop.", "spark.jars", "spark.kerberos.",
    "spark.kubernetes.", "spark.local.dir", "spark.memory.", "spark.network.timeout", "spark.pyspark.python",
    "spark.shuffle.", "spark.speculation", "spark.sql.adaptive.", "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.codegen.", "spark.sql.shuffle.partitions", "spark.task.", "spark.yarn.",
)  # fmt: skip


@dataclass(frozen=True)
class SparkSettings:
    """Checked. `conf` is what the user adds; a value `env:NAME` stands for that variable and is looked up at the start."""

    profile: Profile = "local"
    master: str = LOCAL_MASTER
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def ships_code(self) -> bool:
        """Executors are processes of their own, perhaps elsewhere: they get this package with the job."""
        return not self.master.startswith("local[") and self.master != "local"

    def python(self) -> str:
        """The Python of the executors: here this one, elsewhere `python3` unless another is given."""
        given = self.conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
        return given or ("python3" if self.ships_code else sys.executable)

    def values(self) -> dict[str, str]:
        """Settings of the profile and the user's, which come last."""
        of_place = {"spark.driver.memory": os.environ.get(MEMORY_VARIABLE, "2g")}
        if self.profile == "local":
            of_place |= dict.fromkeys(("spark.sql.shuffle.partitions", "spark.default.parallelism"), str(self._cores()))
        elif address := address_towards(self.master):
            of_place["spark.driver.host"] = address  # executors connect to it
        given = {name: _looked_up(name, value) for name, value in self.conf.items()}
        return {**SETTINGS[self.profile], **of_place, **given}

    def _cores(self) -> int:
        """As many as `local[N]` says, one for `local`, else those that this process may use."""
        asked = _LOCAL_CORES.match("local[1]" if self.master == "local" else self.master)
        return int(asked[1]) if asked else len(os.sched_getaffinity(0))


def spark_settings(profile: str | None = None, master: str | None = None, conf: Sequence[str] = ()) -> SparkSettings:
    """From options, else from the environment. A master that is not of this machine means the profile `cluster`.
    UserError for a setting that may not be changed, and for what is no KEY=VALUE."""
    chosen_master = master or os.environ.get(MASTER_VARIABLE) or LOCAL_MASTER
    elsewhere = not chosen_master.startswith("local")
    chosen = profile or os.environ.get(PROFILE_VARIABLE) or ("cluster" if elsewhere else "local")
    if chosen not in SETTINGS:
        raise UserError(f"a profile of Spark must be one of {', '.join(SETTINGS)}, given {chosen!r}")
    from_environment = [part for part in os.environ.get(CONF_VARIABLE, "").split(";") if part.strip()]
    given = dict(_checked(text) for text in (*from_environment, *conf))
    return SparkSettings(chosen, chosen_master, given)


def address_towards(master: str) -> str | None:
    """This host's address as the master sees it; None where Spark finds it out by itself (YARN, Kubernetes, local)."""
    if not master.startswith("spark://"):
        return LOOPBACK if master.startswith("local") else None
    host, _, port = master.removeprefix("spark://").partition(",")[0].rpartition(":")
    try:
        (family, kind, _, _, where), *_ = socket.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM)
        with socket.socket(family, kind) as probe:
            probe.connect(where)  # a datagram socket sends nothing: the kernel only chooses the way
            return str(probe.getsockname()[0])
    except (OSError, ValueError) as error:
        hint = "for example spark://10.0.0.5:7077"
        raise UserError(f"the Spark master {master} has no address here: {error}", hint=hint) from error


def _checked(text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise UserError(f"--conf must be KEY=VALUE, given {text!r}", hint="for example spark.executor.memory=4g")
    if not any(name == one or (one.endswith(".") and name.startswith(one)) for one in ALLOWED):
        near = difflib.get_close_matches(name, ALLOWED, n=1)
        hint = (f"did you mean {near[0]}? " if near else "") + f"these may be set: {', '.join(ALLOWED)}"
        raise UserError(f"--conf {name} may not be set: it is fixed, so that results do not depend on it", hint=hint)
    return name, value


def _looked_up(name: str, value: str) -> str:
    if not value.startswith("env:"):
        return value
    variable = value.removeprefix("env:")
    if variable not in os.environ:
        raise UserError(f"--conf {name}: the environment variable {variable} is not set", hint=f"export {variable}=...")
    return os.environ[variable]
