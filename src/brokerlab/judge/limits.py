"""Every limit of the judgement, once. Checks compare with them, and docs/measurements.md prints them.

Those of `steadiness`, which Spark's workers label before anything is judged, are in model/steadiness.py.
"""

from __future__ import annotations

ACHIEVED_SHARE = 0.99  # open loop: messages sent in time / messages due
AGENT_CPU_CORES = 0.90  # of the one core an agent can use
BEHIND_SHARE = 0.01  # of a second's messages: less is a tick or two

# A latency counted from the scheduled time contains our own lateness. Where it raises a quantile by more than this share,
# and by more than the floor, the quantile says more about us than about the broker. The floor goes with FOREIGN_SHARE: a
# thread that wakes on a processor which another program uses waits for a time slice or two (1.4 ms each on Linux 6.18), and
# so does the broker, so other load that is allowed brings lateness of that size.
LATENESS_SHARE = 0.20
LATENESS_FLOOR_NS = 2_000_000

# Mean of the measure phase, as a share of the host's processors: a mail program must not spoil an answer.
FOREIGN_SHARE = 0.20
STOLEN_SHARE = 0.10
# In a single second, in cores: when a processor is away for 50 ms, every message of these 50 ms may be late. What other
# programs used is what remains when ours are taken off, and is itself wrong by some 0.05.
LOUD_SECOND_CORES = {"cpu_steal_cores": 0.05, "cpu_foreign_cores": 0.10}

AGENT_PAUSE_NS = 250_000_000  # an agent that did not run for so long was stopped, or starved of processors
CLOCK_STEP_NS = 100_000_000  # between the UNIX and the monotonic clock, over one execution

SHORTEST_MEASURE_S = 5
CUT_SHORT_SHARE = 0.90

ENOUGH_SHARE = 2 / 3  # of the planned repeats, and of those that count, must hold for a cell to be valid

SHARE_SLACK = (
    0.10  # a node's share of a processor is handed out in slices: means of a few seconds are good to this much
)
LINK_SLACK = 0.05  # a few milliseconds of silence may be made up for
MEMORY_SLACK_BYTES = 64 << 10  # a memory limit is rounded to whole pages, and they have 64 KiB at most
