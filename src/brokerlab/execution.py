"""One execution: one cell, once. A cluster, fresh or kept, agents, probes, phases, drain; then everything is gone but evidence."""

from __future__ import annotations

import contextlib
import queue
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from brokerlab.brokers.contract import Admin, Broker, Cluster
from brokerlab.brokers.registry import broker_named
from brokerlab.clusters import Clusters, Held
from brokerlab.environment import clock_pair
from brokerlab.errors import AgentError, BrokerDiedError, BrokerError, DiskFullError, UserError
from brokerlab.events import Journal
from brokerlab.faults.injection import Injection, raise_failure
from brokerlab.load.agents import Agents, agreed_start
from brokerlab.load.late_sets import Due, LateSets
from brokerlab.load.live import LiveLines, live_text
from brokerlab.load.plans import agent_plans, destination_names, group_names
from brokerlab.load.process import Event, TalkingProcess
from brokerlab.machine.page_cache import drop, write_back
from brokerlab.model import events
from brokerlab.model.environment import CellEnvironment, ClockPair, DurabilityFacts, ExecutionEnvironment
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.listener import RunListener
from brokerlab.model.plan import AgentPlan, CellPlan, Endpoint, Phase, RunPlan
from brokerlab.probes.plan import RestartedNode
from brokerlab.results.directory import RunDirectory
from brokerlab.secrets import redacted, redacted_settings
from brokerlab.take_down import TakeDown, delete_destinations, deletion_by_hand
from brokerlab.warming import warm_up_cluster
from brokerlab.watching import applied, probe_plan

READY_S = 300.0
PROBE_READY_S = 15.0
WRITE_BACK_S = 60.0
SECOND_NS = 1_000_000_000
READING_S = 1.5  # within this there is a reading of every node
NEARLY_NOTHING_BYTES = 1 << 20  # so little space left on the runs' disk is the reason for any death


@dataclass(frozen=True)
class Facts:
    """What an execution adds to environment.json, and how it ended."""

    cell: CellEnvironment
    drained: bool | None
    failure: str | None


class Execution:
    """Runs one cell once. `attempt` counts from 1: how often this execution was begun, those cut off included.

    `progress` is called with the live line, several times a second; `note` gets facts for environment.json as soon as known.
    """

    def __init__(
        self,
        plan: RunPlan,
        cell: CellPlan,
        execution: ExecutionId,
        attempt: int,
        directory: RunDirectory,
        clusters: Clusters,
        say: RunListener,
    ) -> None:
        self._plan = plan
        self._cell = cell
        self._execution = execution
        self._attempt = attempt
        self._directory = directory
        self._clusters = clusters
        self._say = say
        self._broker: Broker = broker_named(cell.broker)
        self._journal = Journal(directory.events(execution), plan.run, execution, attempt)
        self._logs = directory.logs(execution)
        self._cluster: Cluster | None = None
        self._held: Held | None = None
        self._applied: dict[str, dict[str, str]] = {}
        self._keeps_cluster = False  # only after an execution without a failure
        self._agents = Agents(self._logs, self._watch, self._live)
        self._probe: TalkingProcess | None = None
        self._faults: Injection | None = None
        self._pids: dict[str, int] = {}  # of the nodes
        self._lines: dict[str, dict[str, Any]] = {}
        self._live_lines = LiveLines(directory.live_lines(execution))
        self._facts = CellEnvironment(broker=cell.broker, nodes=cell.nodes)
        if not cell.endpoint:  # the version of a server the user runs is among its effective settings, if it tells
            self._learn(version=self._broker.installation().version or self._broker.version)
        self.progress: Callable[[str], None] = lambda _text: None
        self.note: Callable[[CellEnvironment], None] = lambda _facts: None

    def _learn(self, **facts: Any) -> None:
        self._facts = self._facts.model_copy(update=facts)

    def run(self) -> Facts:
        """From nothing to evidence. A broker or agent that dies under load is a result, not an error: it is journalled
        and returned as a failure. Errors before the load begins are raised; a clean-up that fails is a note."""
        with TakeDown(self._left_behind) as down:
            try:
                endpoint = self._bring_up(down)
                failure = self._warm_up_new_cluster(endpoint)
                if failure is not None:
                    return Facts(self._facts, None, failure)
                self._make_destinations(endpoint, down)
                self._add_processes(down)
                facts = self._load(endpoint)
                self._keeps_cluster = facts.failure is None and self._cell.cluster_key() is not None
                return facts
            except BaseException as e:
                with contextlib.suppress(DiskFullError):  # what went wrong first is what people must hear of
                    interrupted = isinstance(e, KeyboardInterrupt)
                    self._journal.add(events.Interrupted(error=str(e)) if interrupted else events.Failed(error=str(e)))
                raise

    def _warm_up_new_cluster(self, endpoint: Endpoint) -> str | None:
        """Why the execution failed, where it did while its cluster was warmed up."""
        seconds = self._cell.phases.first_warm_up_s
        if self._held is None or self._held.executions > 1 or not seconds:
            return None
        self._say.stage(f"warming up {self._cell.broker} for {seconds:g} s")
        scratch = self._directory.path / "clusters" / f"{self._execution}-warm-up"
        try:
            warm_up_cluster(self._plan, self._cell, self._execution, endpoint, scratch, self._watch, self.progress)
        except (BrokerError, AgentError) as e:
            failure = self._died(e)
            self._journal.add(events.End(failure=failure))
            return failure
        self._journal.add(events.ClusterWarmedUp(seconds=seconds))
        return None

    def _make_destinations(self, endpoint: Endpoint, down: TakeDown) -> None:
        """Over a connection that is closed before the load: an idle one would be lost with any break of the network."""
        destinations, groups = self._names(self._attempt)
        admin = self._broker.admin(endpoint, self._cell)
        try:
            made = (self._broker, endpoint, self._cell, destinations)
            delete = partial(delete_destinations, *made, groups, waiting=self._say.stage)
            if self._cluster is None:
                self._delete_leftovers(admin)
                down.add(f"destinations in {self._cell.broker}", delete, deletion_by_hand(*made))
            elif self._cell.cluster_key() is not None:
                down.add("a kept cluster", partial(self._empty_cluster, delete), "the next execution has a fresh one")
            admin.create(destinations, self._cell.partitions, groups)
            self._check_durability(admin, destinations)
            self._plan_faults(destinations)
        finally:
            admin.close()

    def _empty_cluster(self, delete: Callable[[], None]) -> None:
        """A kept cluster loses what the execution made there; one that does not is not kept."""
        if self._keeps_cluster:
            self._keeps_cluster = False
            delete()
            self._keeps_cluster = True

    def _names(self, attempt: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Destinations and groups of an attempt, as the broker knows them."""
        where = (self._plan.run, self._cell, self._execution, attempt)
        return destination_names(*where), group_names(*where)

    def _delete_leftovers(self, admin: Admin) -> None:
        """A broker the user runs keeps what a killed runner made there: it is ours to take away."""
        for earlier in range(1, self._attempt):
            admin.delete(*self._names(earlier))

    def _bring_up(self, down: TakeDown) -> Endpoint:
        cell = self._cell
        if cell.endpoint:
            self._clusters.end()
            return Endpoint(addresses=cell.endpoint, options=cell.endpoint_options, security=cell.security)
        held = self._clusters.kept_for(cell)
        if held is not None:
            self._clusters.add_end(down, held, lambda: not self._keeps_cluster)
            self._journal.add(events.ClusterKept(started_for=held.started_for, executions=held.executions))
        else:
            held = self._start_cluster(down)
        self._held, self._cluster = held, held.cluster
        self._note_nodes()
        self._note_applied()
        return held.cluster.endpoint()

    def _note_applied(self, **more: dict[str, str]) -> None:
        """What processes were held to stands among the effective settings, read back from the kernel."""
        more = {f"machine: {what.replace('_', ' ')}": facts for what, facts in more.items()}
        self._applied |= applied(self._cell, self._cluster, self._agents) | more
        self._learn(effective_settings={**self._facts.effective_settings, **self._applied})

    def _start_cluster(self, down: TakeDown) -> Held:
        cell = self._cell
        self._say.stage(f"starting {cell.broker} ({cell.nodes} node{'s' if cell.nodes > 1 else ''})")
        data = self._directory.path / "clusters" / str(self._execution)
        held = self._clusters.hold(self._broker.cluster(cell, data, self._logs), cell, data, self._execution)
        self._clusters.add_end(down, held, lambda: not self._keeps_cluster)
        held.cluster.start()
        held.cluster.wait_ready(time.monotonic_ns() + round(READY_S * SECOND_NS))
        return held

    def _check_durability(self, admin: Admin, destinations: tuple[str, ...]) -> None:
        """The declared level is compared with the one that follows from settings read back, before any load."""
        computed = admin.durability(destinations)
        self._learn(
            effective_settings={**redacted_settings(admin.effective_settings(destinations)), **self._applied},
            durability=DurabilityFacts(level=computed.level.value, because=computed.because),
        )
        self.note(self._facts)
        if computed.level is not self._cell.durability:
            because = ", ".join(f"{name}={value}" for name, value in computed.because.items())
            raise UserError(
                f"{self._cell.label}: the workload declares {self._cell.durability.value}, but the broker's settings "
                f"give {computed.level.value} ({because})",
                hint="change `durability`, or the broker_settings and client_settings that contradict it",
            )

    def _plan_faults(self, destinations: tuple[str, ...]) -> None:
        if self._cell.faults and self._cluster is not None:
            self._faults = Injection(self._cell, self._cluster, destinations[0], self._note_fault)
            self._faults.check()

    def _note_fault(self, event: events.Event) -> None:
        """Into the journal; where a fault's end has started processes again, those are watched from then on."""
        self._journal.add(event)
        if isinstance(event, events.FaultEnded):
            self._note_nodes()

    def _note_nodes(self) -> None:
        """Node processes that have not been noted yet: into the journal, and to the probe where there is one already."""
        for node in () if self._cluster is None else self._cluster.nodes():
            if self._pids.get(node.name) == node.pid:
                continue
            self._pids[node.name] = node.pid
            self._journal.add(events.NodeStarted(pid=node.pid), source=node.name)
            if self._probe is not None:
                self._probe.write_line(RestartedNode(name=node.name, pid=node.pid).model_dump_json())

    def _load(self, endpoint: Endpoint) -> Facts:
        cell = self._cell
        evidence = self._directory.evidence(self._execution)
        producers, consumers = agent_plans(self._plan, cell, self._execution, self._attempt, endpoint, evidence)
        self._settle_disk()
        self._say.stage(f"{cell.label}, {self._plan.repeat_words(self._execution)}")
        first = [*(c for c in consumers if c.consumers is not None and not c.consumers.starts_late), *producers]
        self._start_agents(first)
        self._agents.prepare(consumers)
        clock = clock_pair()
        self._start_probe(clock, endpoint)
        start_ns = agreed_start(clock)
        self._learn(
            driver_path=next((d for n, d in self._agents.drivers.items() if n.startswith("producer")), None),
            executions=self._environment(start_mono_ns=start_ns[0], clock=clock),
        )
        failure = None
        drain_complete: bool | None = None
        try:
            self._agents.set_off([p.agent for p in first], *start_ns)
            self._journal.add(events.PhaseBegun(phase=Phase.WARM_UP, start_mono_ns=start_ns[0]))
            self.note(self._facts)  # only now: a slow disk must not make the agents late
            phases = cell.phases
            if self._faults is not None:
                self._faults.start(start_ns[0] + round(phases.warm_up_s * SECOND_NS))
            patience_s = phases.warm_up_s + phases.measure_s + cell.producers.send_timeout_s + 60
            self._wait_sent(producers, LateSets(cell, consumers, start_ns[0]), start_ns, patience_s)
            if cell.producers.messages is not None:
                self._agents.end_measure([c.agent for c in consumers])
            if consumers:
                drain_complete = self._drain(consumers)
            self._agents.finish([c.agent for c in consumers])
            self._agents.wait_done([c.agent for c in consumers], 60)
        except (BrokerError, AgentError) as e:
            failure = self._died(e)
        if self._faults is not None:
            self._faults.finish()
        self._learn(executions=self._environment(start_mono_ns=start_ns[0], clock=clock, clock_end=clock_pair()))
        self.note(self._facts)
        self._journal.add(events.End(failure=failure))
        return Facts(self._facts, drain_complete, failure)

    def _settle_disk(self) -> None:
        """What earlier executions wrote would otherwise reach the disk during this one, in some repeats and not in others."""
        if not write_back(self._directory.path, WRITE_BACK_S):
            self._say.note(
                f"the disk was still writing after {WRITE_BACK_S:g} s: {self._execution} begins all the same"
            )

    def _environment(self, **times: Any) -> dict[str, ExecutionEnvironment]:
        facts: dict[str, Any] = times
        if self._held is not None:
            facts |= {"cluster_of": self._held.started_for, "cluster_executions": self._held.executions}
        return {str(self._execution.repeat): ExecutionEnvironment(**facts)}

    def _start_agents(self, plans: list[AgentPlan]) -> None:
        self._agents.start(plans)
        for name, pid in self._agents.pids().items():
            if name in {p.agent for p in plans}:
                self._journal.add(events.AgentStarted(pid=pid), source=name)
        self._note_applied()

    def _start_probe(self, clock: ClockPair, endpoint: Endpoint) -> None:
        where = self._directory.probes(self._execution)
        plan = probe_plan(self._plan.run, self._cell, self._execution, self._held, endpoint, self._agents, clock, where)
        plan = plan.model_copy(update={"attempt": self._attempt})
        said: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._probe = TalkingProcess("probe", "brokerlab.probes", self._logs / "probe.log", said)
        self._probe.start(plan.model_dump_json())
        with contextlib.suppress(queue.Empty):  # a run without readings is poorer, not wrong
            said.get(timeout=PROBE_READY_S)

    def _wait_sent(self, producers: list[AgentPlan], late: LateSets, start: tuple[int, int], within_s: float) -> None:
        """Until producers have sent everything; sets of consumers start in between, and the last of them then."""
        deadline = time.monotonic() + within_s

        def is_due() -> bool:
            return late.is_due(time.monotonic_ns(), self._agents.sent_bytes)

        all_sent = False
        while not all_sent:
            left_s = max(deadline - time.monotonic(), 1.0)
            all_sent = self._agents.wait_done([p.agent for p in producers], left_s, is_due)
            due = late.take(time.monotonic_ns(), self._agents.sent_bytes, all_sent=all_sent)
            if any(of.consumers.start == "after_backlog" for of in due):
                self._journal.add(events.BacklogComplete())
                time.sleep(READING_S)  # so that readings tell what writing and what reading a backlog costs
            self._start_late(due, start)

    def _start_late(self, due: list[Due], start: tuple[int, int]) -> None:
        sent_bytes = self._agents.sent_bytes
        for of in due:
            told = {"because": of.because, "reached": of.reached, "all_sent": of.all_sent, "sent_bytes": sent_bytes}
            self._journal.add(events.ConsumersStarted.model_validate({"consumer_set": of.consumers.name, **told}))
        drops = any(of.consumers.drop_page_cache or not of.consumers.name for of in due)
        if drops and self._cell.machine.drop_page_cache and self._held is not None:
            dropped = drop(self._held.data)
            self._journal.add(events.PageCacheDropped(**vars(dropped)))
            self._note_applied(page_cache={"dropped": dropped.words()})
        agents = [agent for of in due for agent in of.agents]
        self._start_agents(agents)
        self._agents.set_off([agent.agent for agent in agents], *start)

    def _drain(self, consumers: list[AgentPlan]) -> bool:
        self._journal.add(events.PhaseBegun(phase=Phase.DRAIN))
        self.progress("draining")
        verdicts = self._agents.drain(self._cell.phases.drain_limit_s)
        complete = bool(consumers) and all(v.complete for v in verdicts.values())
        groups = {group: events.GroupDrain(complete=v.complete, because=v.because) for group, v in verdicts.items()}
        self._journal.add(events.Drain(complete=complete, groups=groups))
        return complete

    def _died(self, error: BrokerError | AgentError) -> str:
        """After a death: every agent that lives writes what it has, open sends end unknown, the journal says who died.
        Returns why the execution failed. Where the disk is full that was the reason, and it is raised."""
        self._agents.finish(list(self._agents.pids()))
        self._agents.stop()
        if shutil.disk_usage(self._directory.path).free < NEARLY_NOTHING_BYTES:
            raise DiskFullError(
                f"no space left in {self._directory.path}: {error.message}",
                hint="free some space and run the same command again: finished executions are kept",
            ) from error
        dead = self._dead_nodes()
        if dead:
            said = "" if self._cluster is None else self._cluster.log_tail(of=dead)
            failure = f"{', '.join(dead)} died under load\nlast log lines:\n{said}"
            self._journal.add(events.NodeDied(names=dead, text=said))
        else:
            # A broker that fails without a node of ours having ended, or an agent.
            failure = str(error)
            if isinstance(error, AgentError):
                self._journal.add(events.AgentDied(names=error.agents, text=failure))
            else:
                self._journal.add(events.BrokerFailed(text=failure))
        return failure

    def _dead_nodes(self) -> tuple[str, ...]:
        """Nodes that have ended by accident: those killed by plan are none."""
        dead = () if self._cluster is None else self._cluster.dead_nodes()
        return dead if self._faults is None else tuple(name for name in dead if name not in self._faults.dead)

    def _watch(self) -> None:
        dead = self._dead_nodes()
        if dead:
            raise BrokerDiedError(f"{', '.join(dead)} died under load")
        raise_failure(self._faults)

    def _live(self, agent: str, line: dict[str, Any]) -> None:
        self._lines[agent] = line
        self._live_lines.add(self._agents.plans()[agent], line)
        self.progress(f"{line['phase']}: {live_text(self._lines)}")

    def _add_processes(self, down: TakeDown) -> None:
        """They end before the broker does, and faults before all: nothing is killed that is being stopped."""
        ends = "it ends with this command at the latest"
        down.add("the probe", lambda: self._probe.stop(5.0) if self._probe is not None else None, ends)
        down.add("agents", self._agents.stop, "they end with this command at the latest")
        down.add("a planned fault", lambda: self._faults.finish() if self._faults is not None else None, ends)

    def _left_behind(self, what: str, what_to_do: str) -> None:
        self._say.note(redacted(f"{self._execution}: clean-up failed: {what}; {what_to_do}"))
        with contextlib.suppress(OSError, DiskFullError):
            self._journal.add(events.LeftBehind(what=what, what_to_do=what_to_do))
