"""Kafka's front door with individual acknowledgement: the same servers, another way to consume."""

from __future__ import annotations

from dataclasses import replace

from brokerlab.brokers.kafka.broker import BROKER as KAFKA
from brokerlab.brokers.kit.front_door import NativePath

BROKER = replace(
    KAFKA,
    name="kafka-kmq",
    product="Apache Kafka with KMQ markers",
    runs="the same, messages acknowledged one by one with KMQ's markers",
    capabilities=replace(KAFKA.capabilities, individual_acknowledgement=True),
    parts=replace(
        KAFKA.parts,
        admin="kmq.admin:KmqAdmin",
        consumer="kmq.consumer:KmqConsumer",
        problems="kmq.settings:problems",
    ),
    native=NativePath("native", consumer=""),  # consumers with markers are in Python always
    test_hints=replace(
        KAFKA.test_hints,
        nodes_in_every_run=(1,),
        slow_to_start=True,
        taken_port_in_every_run=False,
        lag_probe_tells=(),  # offsets say what has a start marker, not what was acknowledged
    ),
)
