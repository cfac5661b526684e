"""Every command the README tells a reader to type exists and works as written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.split("#")[0].strip() for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if line]
BROKERLAB = [c for c in COMMANDS if c.startswith(".venv/bin/brokerlab")]
SHORT = [
    "--broker",
    "memory",
    "--repeats",
    "1",
    "--set",
    "durability=L4",
    "--set",
    "phases.warm_up=1s",
    "--set",
    "phases.measure=2s",
]


def _brokerlab(command: str, directory: Path, *more: str) -> subprocess.CompletedProcess[str]:
    words = [*shlex.split(command)[1:], *more]
    env = {**os.environ, "BROKERLAB_RUNS": str(directory / "runs")}
    return subprocess.run(
        [sys.executable, "-m", "brokerlab.cli.main", *words],
        cwd=directory, env=env, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [c for c in COMMANDS if c.startswith("make")] == ["make demo", "make test"]
    assert {"demo", "test"} <= set(targets)


def test_the_readme_shows_every_step_from_doctor_to_show() -> None:
    steps = [shlex.split(c)[1] for c in BROKERLAB]
    asking = ["doctor", "list", "init", "plan", "run", "show"]
    assert steps == [*asking, "run", "run", "compare", "history", "query", "study", "study", "study", "study"]


def test_its_brokerlab_commands_work_one_after_the_other(directory: Path) -> None:
    """`run` is made short and put on the memory broker: what it shows is that the commands fit together. Whether this
    machine is quiet enough for a valid verdict is not asked. Running a study takes too long: its help is asked for."""
    for command in BROKERLAB:
        more = SHORT if command.split()[1] == "run" else ("--help",) if "study run" in command else ()
        done = _brokerlab(command, directory, *more)
        allowed = {"run": {0, 5, 7}, "doctor": {0, 3}}.get(command.split()[1], {0})
        assert done.returncode in allowed, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    assert list((directory / "runs").glob("*/report.html"))


def test_its_workload_plans_as_written(directory: Path) -> None:
    (text,) = [text for kind, text in BLOCKS if kind == "yaml"]
    (directory / "shown.yaml").write_text(text)
    done = _brokerlab(".venv/bin/brokerlab plan shown.yaml --json", directory)
    assert done.returncode == 0, done.stderr
    assert '"L2"' in done.stdout


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    missing = [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]
    assert links
    assert not missing
