"""SQS's front door."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.contract import Capabilities, TestHints
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import FromMaven
from brokerlab.model.plan import Durability

BROKER = FrontDoor(
    name="sqs",
    product="Amazon SQS",
    stand_in=True,
    runs="ElasticMQ 1.7, which speaks Amazon SQS's protocol; SQS itself by endpoint",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1,),
        durability_levels={1: (Durability.L4,)},
        link_cap=(1,),
        ordered=False,
        groups=False,
        replay=False,
        positions=False,
        acknowledgement="ElasticMQ: the message is in the memory of one process; SQS: copies in several data centres, "
        "which is AWS's claim and cannot be checked",
        delete_by_hand="aws sqs delete-queue, for every queue whose name begins with {name}",
        endpoint_options={
            "region": "AWS's name of it, such as eu-west-1: requests are signed with the credentials that AWS's own tools "
            "find in the environment or in the shared credentials file"
        },
    ),
    recipe=FromMaven("sqs", "ElasticMQ 1.7.1", Path(__file__).with_name("sqs.lock")),
    parts=Parts(
        cluster="cluster:ElasticCluster",
        admin="admin:SqsAdmin",
        producer="producer:SqsProducer",
        consumer="consumer:SqsConsumer",
        probe="probe:SqsProbe",
        figures_at={"jolokia": ("jolokia", ""), "statistics": ("statistics", "")},
    ),
    test_hints=TestHints(soon_again={"visibility_timeout_s": "5"}),
)
