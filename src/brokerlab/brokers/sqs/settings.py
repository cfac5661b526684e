"""What a cell's settings mean for SQS."""

from __future__ import annotations

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.setting_checks import (
    filled,
    filled_numbers,
    not_with_an_endpoint,
    one_of,
    setting_problems,
    whole_number,
)
from brokerlab.model.plan import CellPlan, Durability

SERVER = {"visibility_timeout_s": whole_number(43_200), "storage": one_of("memory", "file")}
SERVER_DEFAULTS = {
    "visibility_timeout_s": "30",  # what was received and not deleted comes again after this
    "storage": "memory",  # ElasticMQ's: whether it keeps messages in a file besides
}
CLIENT = {
    "connections": whole_number(256),
    "polls": whole_number(64),
    "wait_s": whole_number(20),
    "prefetch": whole_number(),
}
CLIENT_DEFAULTS = {
    "connections": "8",  # of a producer: batches under way
    "polls": "2",  # of a consumer, open on each queue
    "wait_s": "1",  # how long a poll waits for the first message; a closing consumer waits as long
    "prefetch": "100",  # with so many messages at hand no more are asked for
}
server_settings, client_settings = filled(SERVER_DEFAULTS), filled_numbers(CLIENT_DEFAULTS)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """Always the weakest: see admin.SqsAdmin.durability."""
    return ComputedDurability(Durability.L4, {"storage": server_settings(cell.broker_settings)["storage"]})


def problems(cell: CellPlan) -> list[CellProblem]:
    found = setting_problems(cell, SERVER, CLIENT) + not_with_an_endpoint(cell, ["storage"])
    if cell.faults and not cell.endpoint and server_settings(cell.broker_settings)["storage"] == "memory":
        said = "a killed ElasticMQ with storage memory has lost its queues too, so that no client can go on"
        found.append(CellProblem(("faults",), f"{said}: set broker_settings.sqs.storage to file"))
    return found
