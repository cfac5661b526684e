"""A password planted by reference works, and is afterwards found nowhere: no file of the run, no output, no process list."""

from __future__ import annotations

import json
import re
import secrets
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lab import BROKERLAB, Lab, workload
from secret_hunt import Hunt, files_with, holds

from brokerlab.brokers.registry import BROKERS, broker_named
from brokerlab.results.reader import read_verdict

STARTED = [name for name in BROKERS if broker_named(name).capabilities.nodes]
WITH_PASSWORD = [name for name in STARTED if "password" in broker_named(name).capabilities.security]
QUICKEST = next((name for name in ("nats", "kafka") if name in WITH_PASSWORD), None)


def test_there_is_a_broker_to_ask() -> None:
    assert QUICKEST is not None


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "broker", [name if name == QUICKEST else pytest.param(name, marks=pytest.mark.slow) for name in WITH_PASSWORD]
)
def test_a_planted_password_is_found_nowhere(lab: Lab, tmp_path: Path, broker: str) -> None:
    by_env, by_file = (f"planted-{secrets.token_hex(12)}" for _ in range(2))
    (tmp_path / "word.txt").write_text(by_file + "\n")
    (tmp_path / "word.txt").chmod(0o600)
    file = workload(
        tmp_path,
        broker=broker,
        cluster={"nodes": min(broker_named(broker).capabilities.nodes)},
        security={"tls": True, "user": "lab", "password": "env:BROKERLAB_E2E_PASSWORD"},
        destinations={"count": 1, "partitions": 1},
        producers={"rate": "50/s", "message": "200B"},
        phases={"warm_up": "1s", "measure": "2s", "drain_limit": "120s"},
        sweep={"security.password": ["env:BROKERLAB_E2E_PASSWORD", "file:word.txt"]},
        durability="weakest",
    )
    hunt = Hunt(lab.runs, (by_env, by_file))
    hunt.start()
    said = subprocess.run(
        [*BROKERLAB, "run", str(file)],
        env=lab.env | {"BROKERLAB_E2E_PASSWORD": by_env},
        capture_output=True, text=True, timeout=840, check=False,
    )  # fmt: skip
    hunt.end()
    assert said.returncode in (0, 5), said.stderr  # a busy machine makes rates unbelievable, not deliveries
    verdict = read_verdict(lab.run())
    assert verdict.delivery["received"] >= verdict.delivery["sent"] > 0
    assert verdict.delivery["lost"] == 0
    assert any(b"brokerlab.agent" in line for line in hunt.seen), "nobody was looking while agents ran"
    assert not hunt.told
    shown = lab.call("show", "last")
    report = lab.run().report_file.read_text()
    assert "TLS and password" in shown.stdout
    assert "TLS and password" in report
    for planted in (by_env, by_file):
        assert planted not in said.stdout + said.stderr + shown.stdout + shown.stderr
        assert files_with(lab.run().path, planted) == []
    assert files_with(lab.runs, "BROKERLAB_E2E_PASSWORD"), "the search itself finds what is there: the reference"


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("broker", WITH_PASSWORD)
def test_a_broker_in_the_background_demands_what_up_was_told(lab: Lab, tmp_path: Path, broker: str) -> None:
    """Up, a run against it as `up` says, down; the run connects to it as to any broker somebody else runs."""
    planted = f"planted-{secrets.token_hex(12)}"
    lab.env["BROKERLAB_E2E_PASSWORD"] = planted
    up = lab.call("up", broker, "--tls", "--user", "lab", "--password", "env:BROKERLAB_E2E_PASSWORD")
    try:
        assert up.returncode == 0, up.stderr
        status = lab.call("status", broker)
        (hint,) = re.findall(r"^use it: +brokerlab run FILE (.*)$", up.stdout, re.MULTILINE)
        level = re.findall(r"durability (L\d)", up.stdout)[0]
        file = workload(tmp_path, broker=broker, durability=level, producers={"rate": "50/s"})
        stranger = lab.call("run", file, *hint.split(" --set ")[0].split(), "--fresh", "--quiet", within_s=600)
        assert stranger.returncode == 4, f"it lets in who has no password: {stranger.stdout} {stranger.stderr}"
        shutil.rmtree(lab.runs)
        said = lab.call("run", file, *shlex.split(hint), "--quiet", within_s=600)
        assert said.returncode in (0, 5), said.stderr
        assert read_verdict(lab.run()).delivery["received"] > 0
        assert files_with(lab.runs, planted) == []
        told = "".join(s.stdout + s.stderr for s in (up, status, stranger, said))
        assert "password env:BROKERLAB_E2E_PASSWORD" in status.stdout
        assert planted not in told
    finally:
        down = lab.call("down", broker)
    assert down.returncode == 0, down.stderr


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    planted = 'planted-"1\\x'
    (tmp_path / "a.log").write_text(f"login {planted}")
    (tmp_path / "b.json").write_text(json.dumps({"deep": [planted]}))
    pq.write_table(pa.table({"detail": [planted] * 1000}), tmp_path / "c.parquet", compression="zstd")
    (tmp_path / "d.txt").write_text("nothing")
    assert sorted(p.name for p in files_with(tmp_path, planted)) == ["a.log", "b.json", "c.parquet"]
    assert not holds(tmp_path / "gone", planted)


def test_the_search_sees_command_lines_and_open_configuration(tmp_path: Path) -> None:
    planted = f"planted-{secrets.token_hex(8)}"
    data = tmp_path / "run" / "clusters" / "c01-r1"
    data.mkdir(parents=True)
    (data / "open.conf").write_text(planted)
    (data / "own.conf").write_text(planted)
    (data / "open.conf").chmod(0o644)
    (data / "own.conf").chmod(0o600)
    hunt = Hunt(tmp_path, (planted,))
    waiting = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", planted]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        hunt.look()
        process.stdin.close()
    assert any("command line" in one for one in hunt.told)
    assert {one.rpartition("/")[2] for one in hunt.told if "file" in one} == {"open.conf"}
