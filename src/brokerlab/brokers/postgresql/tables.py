"""The queue in tables: a schema per destination, with its groups and one row per message and group."""

from __future__ import annotations

import hashlib

NAME_BYTES = 63  # PostgreSQL cuts longer identifiers without a word
_SPARE = "number = (SELECT min(number) FROM {schema}.groups WHERE name IS NULL)"


def schema_name(destination: str) -> str:
    """The destination's schema, before quoting. Long names end in a hash of the whole."""
    if len(destination.encode()) <= NAME_BYTES:
        return destination
    return (
        f"{destination.encode()[:46].decode(errors='ignore')}-{hashlib.sha256(destination.encode()).hexdigest()[:16]}"
    )


def quoted(destination: str) -> str:
    return '"' + schema_name(destination).replace('"', '""') + '"'


def create_statements(destination: str) -> list[str]:
    """A destination without groups holds what is published for the first group that comes: number 1, without a name."""
    schema = quoted(destination)
    return [
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {schema}.groups (number int PRIMARY KEY, name text UNIQUE)",
        f"INSERT INTO {schema}.groups VALUES (1, NULL)",
        f"""CREATE TABLE {schema}.messages (
            grp int NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, partition int NOT NULL,
            deliveries int NOT NULL DEFAULT 0, next_delivery timestamptz NOT NULL DEFAULT '-infinity',
            payload bytea NOT NULL, PRIMARY KEY (grp, id))""",
    ]


def drop_statement(destination: str) -> str:
    return f"DROP SCHEMA IF EXISTS {quoted(destination)} CASCADE"


def group_statements(destination: str) -> list[str]:
    """Make a group, in one transaction; every statement takes the name as $1. The last gives its number.

    The first group takes over number 1 and with it whatever was published before; a later one begins empty.
    """
    schema = quoted(destination).replace("%", "%%")
    known = f"SELECT FROM {schema}.groups WHERE name = %s"
    return [
        f"UPDATE {schema}.groups SET name = %s WHERE {_SPARE.format(schema=schema)} AND NOT EXISTS ({known})",
        f"""INSERT INTO {schema}.groups SELECT max(number) + 1, %s FROM {schema}.groups
            HAVING NOT EXISTS ({known})""",
        f"SELECT number FROM {schema}.groups WHERE name = %s",
    ]


def publish_statement(destination: str) -> str:
    """$1 partitions int[], $2 payloads bytea[]: a row for every group there is now. Ids grow in the arrays' order."""
    schema = quoted(destination)
    return f"""INSERT INTO {schema}.messages (grp, partition, payload)
        SELECT g.number, m.partition, m.payload
        FROM {schema}.groups g, unnest($1::int[], $2::bytea[]) AS m(partition, payload)"""


_AS_COLUMNS = """SELECT array_agg(id), array_agg(deliveries), array_agg(octet_length(payload)),
        string_agg(payload, ''::bytea) FROM (SELECT * FROM taken ORDER BY id) ordered"""


def _due(schema: str) -> str:
    return f"""due AS MATERIALIZED (SELECT id FROM {schema}.messages
        WHERE grp = $1::int AND next_delivery <= now() ORDER BY id LIMIT $2::int FOR UPDATE SKIP LOCKED)"""


def take_statement(destination: str) -> str:
    """$1 group, $2 how many, $3 microseconds until they are due again. One row of four columns for the whole batch."""
    schema = quoted(destination)
    return f"""WITH {_due(schema)}, taken AS (
        UPDATE {schema}.messages m SET deliveries = deliveries + 1,
            next_delivery = now() + $3::bigint * interval '1 microsecond'
        FROM due WHERE m.grp = $1 AND m.id = due.id RETURNING m.id, m.deliveries, m.payload)
        {_AS_COLUMNS}"""


def remove_statement(destination: str) -> str:
    """As `take_statement` without a lease: what is given out is gone. $3 is not used."""
    schema = quoted(destination)
    return f"""WITH {_due(schema)}, taken AS (
        DELETE FROM {schema}.messages m USING due
        WHERE m.grp = $1 AND m.id = due.id AND $3::bigint > 0 RETURNING m.id, m.deliveries + 1 AS deliveries, m.payload)
        {_AS_COLUMNS}"""


def acknowledge_statement(destination: str) -> str:
    """$1 group, $2 ids bigint[]."""
    return f"DELETE FROM {quoted(destination)}.messages WHERE grp = $1::int AND id = ANY($2::bigint[])"


def give_back_statement(destination: str) -> str:
    """$1 group, $2 ids bigint[]: due again at once."""
    return f"""UPDATE {quoted(destination)}.messages SET next_delivery = '-infinity'
        WHERE grp = $1::int AND id = ANY($2::bigint[])"""


def count_statement(destination: str) -> str:
    """$1 group: everything not acknowledged."""
    return f"SELECT count(*) FROM {quoted(destination)}.messages WHERE grp = $1::int"
