"""The lake's tables: those of every run (results.tables), and those that only a lake has."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from brokerlab.model.tables import Column, Table
from brokerlab.results.tables import EVIDENCE_FILE, RESULT_TABLES

_RUN = Column("run", "string", "", "run directory's name")
_TABLE = Column("table", "string", "", "evidence table")
_EXECUTION = Column("execution", "string", "", "execution that wrote it, as c01-r2")

EVIDENCE_COUNT = Table(
    "evidence_count",
    "How many rows of evidence keep the rules, by table and execution. Those that do not are in quarantined_row, files that cannot be read in unreadable_segment.",
    (
        _RUN,
        _TABLE,
        _EXECUTION,
        Column("files", "long", "1", "files that can be read"),
        Column("rows", "long", "1", "rows in those files"),
        Column("good", "long", "1", "rows that keep every rule"),
        Column("set_aside", "long", "1", "rows that break a rule"),
        Column("unreadable_files", "long", "1", "files that cannot be read"),
    ),
)

RUNS = Table(
    "runs",
    "One row per run: what was asked, on what it was measured, what may be believed.",
    (
        _RUN,
        Column("name", "string", "", "name of the workload"),
        Column("question", "string", "", "question of the workload"),
        Column("tag", "string", "", "tag given by --tag", nullable=True),
        Column("started_unix_s", "double", "s", "when its first execution began", nullable=True),
        Column("ended_unix_s", "double", "s", "when its last execution ended", nullable=True),
        Column("brokers", "string", "", "brokers, in order of the cells, separated by commas"),
        Column("versions", "string", "", "JSON: broker -> version; null for a broker that the user runs"),
        Column("settings", "string", "", "JSON: cell -> subject -> setting -> value, as the broker reports it"),
        Column("durability", "string", "", "levels computed from the settings, without repetition, separated by commas"),
        Column("driver_paths", "string", "", "driver paths, without repetition, separated by commas"),
        Column("host", "string", "", "name of the host"),
        Column("cpu_count", "int", "1", "its processors", nullable=True),
        Column("cpu_model", "string", "", "their model"),
        Column("memory_bytes", "long", "B", "its memory", nullable=True),
        Column("kernel", "string", "", "its kernel"),
        Column("system", "string", "", "its operating system"),
        Column("brokerlab", "string", "", "version of brokerlab that measured it"),
        Column("git_head", "string", "", "commit of brokerlab's source, where it ran from a repository", nullable=True),
        Column("executions", "long", "1", "executions, extra ones included"),
        Column("executions_finished", "long", "1", "of these, those that finished"),
        Column("verdict", "string", "", "valid, invalid or cannot tell"),
        Column("complete", "boolean", "", "every planned repeat finished"),
        Column("delivery_violated", "boolean", "", "lost, corrupted or unexpected messages after a full drain"),
        Column("objectives_missed", "long", "1", "objectives that were missed"),
        Column("headline", "string", "", "the answer in one sentence"),
        Column("plan_fingerprint", "string", "", "sha256 of what decides the plan: alike for runs of the same command"),
        Column("inputs", "string", "", "fingerprint of the files this run's rows were made from"),
        Column("source", "string", "", "run directory they were made from"),
    ),
)  # fmt: skip

CELLS = Table(
    "cells",
    "One row per cell of a run: what runs are compared by.",
    (
        _RUN,
        Column("cell", "string", "", "cell of the sweep"),
        Column("label", "string", "", "what differs from the other cells"),
        Column("broker", "string", "", "broker"),
        Column("version", "string", "", "its version; null for a broker that the user runs", nullable=True),
        Column("nodes", "int", "1", "nodes of its cluster"),
        Column("driver_path", "string", "", "native or python; null where the cell did not run", nullable=True),
        Column("durability_declared", "string", "", "level that the workload asks for"),
        Column("durability", "string", "", "level computed from the settings read back", nullable=True),
        Column("parameters", "string", "", "JSON: parameters of the sweep"),
        Column("settings", "string", "", "JSON: subject -> setting -> value, as the broker reports it"),
        Column("verdict", "string", "", "valid, invalid or cannot tell", nullable=True),
        Column("repeats_planned", "int", "1", "repeats that the workload asks for"),
        Column("repeats_counted", "int", "1", "executions that count"),
        Column("delivery", "string", "", "what its counts are worth: valid, invalid or cannot tell", nullable=True),
        Column("rates", "string", "", "what its rates are worth, likewise", nullable=True),
        Column("latencies", "string", "", "what its latencies are worth, likewise", nullable=True),
        Column("rate_per_s", "double", "1/s", "planned rate of all producers together; null where they send as fast as they can", nullable=True),
        Column("message_bytes", "double", "B", "mean size of a message; null where messages come from a file", nullable=True),
    ),
)  # fmt: skip

EXECUTIONS = Table(
    "executions",
    "One row per execution, in the order of the plan, then the extra ones.",
    (
        _RUN,
        Column("cell", "string", "", "cell of the sweep"),
        Column("repeat", "int", "1", "repeat of the cell, from 1"),
        Column("round", "int", "1", "repeat that it is, or stands in for: cells of one round ran side by side"),
        Column("counted", "boolean", "", "it has finished and was not set aside"),
        Column("state", "string", "", "waiting, running, finished, failed or interrupted"),
        Column("reason", "string", "", "why it failed or was interrupted", nullable=True),
        Column("started_unix_s", "double", "s", "when it began", nullable=True),
        Column("ended_unix_s", "double", "s", "when it ended", nullable=True),
    ),
)  # fmt: skip

REASONS = Table(
    "reasons",
    "The reasons of verdicts, notes included.",
    (
        _RUN,
        Column("cell", "string", "", "cell; empty for the whole run"),
        Column("repeat", "int", "1", "repeat; null for the whole cell", nullable=True),
        Column("code", "string", "", "code, as in measurements.md"),
        Column("weight", "string", "", "invalid, cannot tell or note"),
        Column("cause", "string", "", "who spoiled it: machine, agent, broker, load or evidence"),
        Column("affects", "string", "", "delivery, rates, latencies: those it concerns, separated by commas"),
        Column("text", "string", "", "the reason in one sentence"),
        Column("value", "double", "", "its number", nullable=True),
        Column("limit", "double", "", "the number's limit", nullable=True),
    ),
)  # fmt: skip

DOCUMENTS = Table(
    "documents",
    "The documents of a run as they were written: what compare, history and export read besides the tables.",
    (
        _RUN,
        Column("document", "string", "", "plan, environment, state or verdict"),
        Column("text", "string", "", "its JSON"),
    ),
)

BRONZE = {EVIDENCE_FILE.name: EVIDENCE_FILE}
SILVER = {EVIDENCE_COUNT.name: EVIDENCE_COUNT}
GOLD = {**RESULT_TABLES, **{t.name: t for t in (RUNS, CELLS, EXECUTIONS, REASONS, DOCUMENTS)}}
LAYERS = {"bronze": BRONZE, "silver": SILVER, "gold": GOLD}
PLACES = {f"{layer}/{name}": table for layer, tables in LAYERS.items() for name, table in tables.items()}


def in_files(table: Table) -> Table:
    """The columns that are in the files: `run` is in their path."""
    return replace(table, columns=tuple(replace(c, added=False) for c in table.columns if c.name != "run"))


def declarations() -> str:
    """Changes whenever the columns of any table do: runs are then processed again."""
    columns = [(place, c.name, c.type) for place, table in PLACES.items() for c in table.columns]
    return hashlib.sha256(repr(columns).encode()).hexdigest()
