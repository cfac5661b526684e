"""Commands that a page starts: processes of their own, known to the next server, without a path that leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from brokerlab.dashboard import starting
from brokerlab.dashboard.commands import FOLDER, KEPT, Commands
from brokerlab.errors import NotFoundError, WorkloadError

DEADLINE_S = 120.0


def ended(commands: Commands, name: str) -> dict[str, object]:
    deadline = time.monotonic() + DEADLINE_S
    while (now := commands.state(commands.find(name)))["state"] == "running":
        assert time.monotonic() < deadline, now
        time.sleep(0.05)
    return now


def test_a_command_leaves_its_output_and_exit_code_to_the_next_server(tmp_path: Path) -> None:
    started = Commands(tmp_path).start("list workloads", ["list", "workloads"])
    now = ended(Commands(tmp_path), started.id)
    assert (now["state"], now["exit_code"], now["what"]) == ("ended", 0, "list workloads")
    assert "steady" in str(now["output"])
    assert [c.id for c in Commands(tmp_path).all()] == [started.id]


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    now = ended(commands, commands.start("show", ["show", "no-such-run", "--runs", str(tmp_path)]).id)
    assert now["exit_code"] == 2
    assert "error:" in str(now["output"])


def test_arguments_are_never_read_by_a_shell(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    evil = f"$(touch {tmp_path}/broken); touch {tmp_path}/broken; `touch {tmp_path}/broken`"
    assert ended(commands, commands.start("show", ["show", evil]).id)["exit_code"] == 2
    assert not (tmp_path / "broken").exists()


def test_a_command_outlives_the_process_that_started_it(tmp_path: Path) -> None:
    code = f"from pathlib import Path; from brokerlab.dashboard.commands import Commands; print(Commands(Path({str(tmp_path)!r})).start('doctor', ['list', 'brokers']).id)"
    name = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert ended(Commands(tmp_path), name)["exit_code"] == 0


@pytest.mark.parametrize("name", ["", "..", "../x", "1794950000-abcdeg", "/etc", "1794950000-abcdef"])
def test_only_what_was_started_here_can_be_asked_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError):
        Commands(tmp_path).find(name)


def test_old_commands_are_forgotten(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    first = commands.start("first", ["--version"])
    ended(commands, first.id)
    folder = tmp_path / FOLDER / first.id
    text = (folder / "command.json").read_text()
    for i in range(KEPT + 3):
        name = f"{1_794_950_000 + i}-abcdef"
        (tmp_path / FOLDER / name).mkdir()
        (tmp_path / FOLDER / name / "command.json").write_text(text.replace(first.id, name))
    ended(commands, commands.start("last", ["--version"]).id)
    assert len(commands.all()) <= KEPT + 1


def test_problems_of_an_edited_workload_name_no_folder_of_ours() -> None:
    with pytest.raises(WorkloadError) as error:
        starting.checked(
            starting.Asked(text="name: x\nbroker: memory\nproducers: {payload: {kind: file, path: gone.bin}}\n")
        )
    assert error.value.problems
    assert "brokerlab-check-" not in str(error.value)
