"""The file `brokerlab init` writes: every field, commented, and valid as it stands."""

from __future__ import annotations

TEMPLATE = """\
# A workload: one question, the load that answers it, and what counts as a good answer.
# Check it with `brokerlab plan FILE`, run it with `brokerlab run FILE`. Every field is explained in docs/workloads.md.
# Units are written: rates 20_000/s, 20k/s; sizes 200B, 1KiB (1024), 1kB (1000); times 500ms, 30s, 2min.

name: my-question               # part of the run's name: a-z, 0-9 and -
question: How long do messages take through Kafka and NATS at 5,000 a second?

brokers: [kafka, nats]          # see `brokerlab list brokers`; for one alone: broker: kafka; or all that run here: all
cluster:
  nodes: 1                      # server processes
  kept: false                   # true: one cluster for all executions with equal server settings, not one for each
  # cpu_share_per_node: 0.5     # of one processor, for each node; needs control groups
  # link_cap: 30MB/s            # to each node and from it, by a forwarding process
  # disk_write_cap: 30MB/s      # of each node; needs control groups
  # fsync_floor: 2ms            # each fsync of a node takes at least so long
  # memory_limit_per_node: 1GiB # cached files included; needs control groups
# ceilings: true                # measure what disk and loopback can do at most, for the report
# placement: {nodes: [0], producers: [1], consumers: [1]}         # cores
durability: L4                  # L1 replicated + fsynced, L2 replicated, L3 fsynced on one node, L4 neither;
                                # or strongest, weakest: of those each broker has with this many nodes
# security:                     # what servers require and clients use
#   tls: true                   # a cluster started here makes its own certificate
#   user: lab
#   password: env:BROKERLAB_PASSWORD    # or file:PATH; never the password itself
#   # ca_file: ca.pem           # the certificate authority to trust; only with --endpoint

destinations:
  count: 1                      # topics or queues
  partitions: 4                 # of each

producers:
  count: 1                      # connections that publish
  agents: 1                     # processes they are spread over
  rate: 5_000/s                 # total over all producers, open loop: send times are fixed in advance
  # window: 1_000               # instead of rate, closed loop: unacknowledged messages per producer
  # batch: {least: 1, most: 10} # instead of rate, closed loop: synchronous batches of random size
  # messages: 1_000_000         # in all: measure ends when so many were sent in it, at the latest after phases.measure
  arrival: uniform              # or poisson
  # arrival: {burst: {rate: 50_000/s, length: 1s, every: 10s}}    # producers.rate in between
  # arrival: {ramp: {to: 20_000/s}}                               # from producers.rate, linearly
  message: 1KiB                 # whole message, at least 48B
  # message: [{size: 200B, weight: 9}, {size: 10KiB, weight: 1}]  # a mix
  payload:
    kind: random
    compressibility: 0.0        # share of the body that compresses away
    # kind: lines               # each line of a data file is one message (leave out message and compressibility)
    # file: sensors.tsv         # relative to this file
    # files: [a.tsv, b.tsv]     # instead: one for each producer
    # read_in_ram: true         # false reads the file while sending
    # kind: sensors             # the same with a generated file of recordings
    # lines: 200_000
  # keys: {count: 1_000, distribution: zipf}                      # keys decide the partition
  # stripe: 64                  # without keys: messages in a row to one partition
  send_timeout: 30s             # without an answer for this long, the outcome is unknown

consumers:                      # leave out for none
  groups: 1                     # each gets every message
  per_group: 1                  # share a group's messages
  agents_per_group: 1           # processes
  start: tailing                # or after_backlog: start when everything is sent
  acknowledge: batch            # or each, automatic
  # page_cache: dropped         # after_backlog: the kernel forgets the nodes' files before they are read
  # receive_most: 2048          # messages taken at once

phases:
  warm_up: 5s
  measure: 20s
  drain_limit: 30s              # how long consumers may receive after the last send

# cluster: {nodes: 3} and, with it:
# faults:                       # what goes wrong on purpose
#   - kill: leader              # SIGKILL; or follower, or a node's name such as nats-2
#     at: 10s                   # after the beginning of measure
#     restart_after: 2s         # start it again on the same data; with it, a cluster of 1 node can be killed too

# sweep:                        # one cell for each combination, besides brokers
#   producers.rate: [5_000/s, 10_000/s, 20_000/s]
#   broker_settings.kafka.num.io.threads: [2, 8]
# cells:                        # instead of sweep: cells by name, with what each sets
#   easy: {producers.rate: 1_000/s}
#   full: {producers.rate: null, producers.arrival: null, producers.window: 10_000}

repeats: 4                      # interleaved, so that drift of the machine affects all cells alike; fewer carry no claim
# retries: 4                    # most extra executions of a cell, in place of spoiled ones; left out: as many as repeats

objectives:
  - lost == 0
  - p99(end_to_end_latency) < 100ms
  # - throughput >= 4_900/s

# smallest_difference:          # smaller ones between cells are not called differences
#   rates: 2%
#   latencies: 5%

# broker_settings:              # under the broker's own names
#   kafka: {num.io.threads: 8}
# client_settings:
#   kafka: {linger.ms: 5}

driver: auto                    # or native, python
keep_messages: false            # true: one row of evidence per message (about 5 bytes each)
seed: 1                         # of payloads, keys and Poisson times
"""


def commented_workload() -> str:
    """Valid YAML that plans as it stands."""
    return TEMPLATE
