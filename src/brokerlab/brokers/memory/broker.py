"""The memory broker's front door."""

from __future__ import annotations

from brokerlab.brokers.contract import Capabilities
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.kit.recipes import Shipped
from brokerlab.model.plan import Durability

BROKER = FrontDoor(
    name="memory",
    product="brokerlab memory broker",
    runs="a small real server, to calibrate with",
    folder=__package__,
    kind="calibration",
    capabilities=Capabilities(
        nodes=(1,),
        link_cap=(1,),
        can_restart_a_node=False,  # it could, but destinations and groups end with the process too
        durability_levels={1: (Durability.L4,)},
        acknowledgement="the message is in the memory of the one server process; it ends with that process",
    ),
    recipe=Shipped(broker="memory", version="1"),
    parts=Parts.called("Memory", figures_at={"control": ("", "{address}")}),
)
