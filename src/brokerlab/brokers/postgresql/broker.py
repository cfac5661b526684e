"""PostgreSQL's front door."""

from __future__ import annotations

from brokerlab.brokers.contract import Capabilities
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.postgresql.install import RECIPE

BROKER = FrontDoor(
    name="postgresql",
    product="PostgreSQL",
    runs="PostgreSQL 18, a table as a queue, SKIP LOCKED",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1, 3),
        durability_levels={1: ONE_NODE_LEVELS, 3: ALL_LEVELS},
        replay=False,  # a row is deleted when its group has acknowledged it
        acknowledgement="the transaction that inserted it has committed, the way synchronous_commit says",
        security=("tls", "password"),
        can_lose_a_node=(3,),
        delete_by_hand='DROP SCHEMA "{name}" CASCADE',
        endpoint_options={"database": "the database to use", "user": "user name where no password is given"},
    ),
    recipe=RECIPE,
    parts=Parts.called("Postgresql", figures_at={"address": ("", "{address}")}),
)
