"""MongoDB's front door."""

from __future__ import annotations

from brokerlab.brokers.contract import Capabilities
from brokerlab.brokers.kit.durability import ALL_LEVELS, ONE_NODE_LEVELS
from brokerlab.brokers.kit.front_door import FrontDoor, Parts
from brokerlab.brokers.mongodb.install import RECIPE

BROKER = FrontDoor(
    name="mongodb",
    product="MongoDB",
    stand_in=True,
    runs="FerretDB 2.7 on PostgreSQL 18 with DocumentDB, a collection as a queue; a mongod on PATH or by endpoint",
    folder=__package__,
    capabilities=Capabilities(
        nodes=(1,),
        fsync_floor=False,  # FerretDB is a Go program
        durability_levels={1: ONE_NODE_LEVELS, 3: ALL_LEVELS},  # three: a replica set of the user's
        replay=False,  # a document is deleted when its group has acknowledged it
        positions=False,
        acknowledgement=(
            "MongoDB: the write concern is met; FerretDB: PostgreSQL has committed the insert, the way synchronous_commit "
            "says, whatever the write concern"
        ),
        security=("tls", "password"),
        delete_by_hand='mongosh {address} --eval \'db = db.getSiblingDB("brokerlab"); '
        'db.getCollectionNames().filter(n => n.startsWith("{name}.")).forEach(n => db[n].drop())\'',
        endpoint_options={
            "database": "the database to use",
            "replica_set": "the name of the replica set, whose members are then all found",
            "postgresql": "HOST:PORT of the PostgreSQL behind FerretDB, which tells what a commit waits for",
        },
    ),
    recipe=RECIPE,
    parts=Parts.called("Mongodb", cluster="cluster:cluster_for", producer="drivers", consumer="drivers", probe="admin"),
)
