"""The front door: help, unknown commands, and what becomes of each kind of error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from brokerlab import errors
from brokerlab.cli import main as front
from brokerlab.errors import Problem

HEAVY = ("numpy", "pyarrow", "pyspark", "pydantic", "pandas", "rich", "confluent_kafka", "nats", "yaml")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from brokerlab.cli.main import cli\n"
        "result = CliRunner().invoke(cli, ['--help'])\n"
        "assert result.exit_code == 0 and 'doctor' in result.output\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.strip() == "[]"


def test_every_command_has_a_module_a_help_text_and_dash_h() -> None:
    for name in front.COMMANDS:
        result = CliRunner().invoke(front.cli, [name, "-h"])
        assert result.exit_code == 0, (name, result.output)
        assert f"Usage: cli {name}" in result.output


def test_help_lists_every_command_and_the_exit_codes() -> None:
    result = CliRunner().invoke(front.cli, ["--help"])
    assert all(name in result.output for name in front.COMMANDS)
    assert "Exit codes" in result.output


def test_no_command_prints_the_help() -> None:
    result = CliRunner().invoke(front.cli, [])
    assert result.exit_code == 0
    assert "Commands:" in result.stdout


def test_an_unknown_command_names_the_nearest() -> None:
    result = CliRunner().invoke(front.cli, ["analyse"])
    assert result.exit_code == 2
    assert "did you mean 'analyze'" in result.stderr.lower()
    assert result.stdout == ""


def test_the_version_is_the_packages() -> None:
    result = CliRunner().invoke(front.cli, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith(("brokerlab ", "cli "))


def _raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make the command `doctor` raise."""

    @click.command()
    def command() -> int:
        raise error

    monkeypatch.setattr("brokerlab.cli.commands.doctor.command", command)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UserError("wrong"), 2),
        (errors.WorkloadError([Problem("w.yaml", 3, "producers.rat", "unknown key", nearest="rate")]), 2),
        (errors.NotFoundError("no such run"), 2),
        (errors.EndpointOnlyError("it is never started here"), 2),
        (errors.MachineError("no Java"), 3),
        (errors.InstallError("hash differs"), 3),
        (errors.DiskFullError("no space"), 3),
        (errors.DamagedFileError("plan.json", "it is empty", hint="brokerlab rm it"), 3),
        (errors.BusyError("another run"), 3),
        (errors.BrokerError("refused"), 4),
        (errors.NotReadyError("too slow"), 4),
        (errors.BrokerDiedError("kafka-1 ended"), 4),
        (errors.MeasurementError("not to be believed"), 5),
        (errors.AgentError("no evidence"), 5),
        (errors.InterruptedRunError("stopped"), 130),
        (KeyboardInterrupt(), 130),
        (OSError(28, "No space left on device"), 3),
        (ZeroDivisionError("division by zero"), 3),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, BaseException) else str(x),
)
def test_each_error_has_its_exit_code_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    monkeypatch.delenv("BROKERLAB_TRACEBACK", raising=False)
    _raising(monkeypatch, error)
    result = CliRunner().invoke(front.cli, ["doctor"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_every_error_class_of_the_tree_is_covered_above() -> None:
    def below(cls: type[errors.BrokerlabError]) -> set[type[errors.BrokerlabError]]:
        return {cls}.union(*(below(c) for c in cls.__subclasses__() if c.__module__ == "brokerlab.errors"))

    [mark] = test_each_error_has_its_exit_code_and_no_traceback.pytestmark  # type: ignore[attr-defined]
    tried = {type(error) for error, _ in mark.args[1]}
    assert below(errors.BrokerlabError) - {errors.BrokerlabError} <= tried


def test_the_hint_of_an_error_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    _raising(monkeypatch, errors.MachineError("no Java", hint="brokerlab install kafka"))
    result = CliRunner().invoke(front.cli, ["doctor"])
    assert result.stderr == "error: no Java\n  brokerlab install kafka\n"


def test_an_unexpected_error_says_how_to_get_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _raising(monkeypatch, ZeroDivisionError("division by zero"))
    result = CliRunner().invoke(front.cli, ["doctor"])
    assert "ZeroDivisionError: division by zero" in result.stderr
    assert "BROKERLAB_TRACEBACK=1" in result.stderr
    monkeypatch.setenv("BROKERLAB_TRACEBACK", "1")
    result = CliRunner().invoke(front.cli, ["doctor"])
    assert "Traceback" in result.stderr
    assert result.exit_code == 3


def test_a_reader_that_has_seen_enough_causes_no_noise(tmp_path: Path) -> None:
    """The read end of our stdout is closed before we write: the kernel says EPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    env = {**os.environ, "BROKERLAB_RUNS": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "brokerlab.cli.main", "completion", "bash"],
        stdout=writer, stderr=subprocess.PIPE, text=True, env=env,
    ) as process:  # fmt: skip
        os.close(writer)
        _, err = process.communicate(timeout=120)
    assert err == ""
    assert process.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    result = CliRunner().invoke(front.cli, ["completion", shell])
    assert result.exit_code == 0
    assert "_BROKERLAB_COMPLETE" in result.stdout


def test_completion_of_an_unknown_shell_names_the_known_ones() -> None:
    result = CliRunner().invoke(front.cli, ["completion", "csh"])
    assert result.exit_code == 2
    assert "fish" in result.stderr


def test_the_shell_completes_commands_and_brokers() -> None:
    env = {**os.environ, "_BROKERLAB_COMPLETE": "bash_complete", "COMP_WORDS": "brokerlab up me", "COMP_CWORD": "2"}
    code = "from brokerlab.cli.main import main; main()"
    said = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert said.stdout.split() == ["plain,memory"]


def _on_a_terminal(env: dict[str, str], *args: str) -> str:
    """What `brokerlab args` writes to a terminal, both streams."""
    master, slave = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "brokerlab.cli.main", *args],
        stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", **env},
    ) as process:  # fmt: skip
        os.close(slave)
        said = b""
        try:
            while part := os.read(master, 4096):
                said += part
        except OSError:  # EIO: the other side is closed
            pass
        process.wait(120)
    os.close(master)
    return said.decode()


def test_no_color_is_honoured_on_a_terminal(tmp_path: Path) -> None:
    coloured = _on_a_terminal({"BROKERLAB_RUNS": str(tmp_path), "NO_COLOR": ""}, "show", "nothing")
    plain = _on_a_terminal({"BROKERLAB_RUNS": str(tmp_path), "NO_COLOR": "1"}, "show", "nothing")
    assert "\x1b[31m" in coloured
    assert "\x1b" not in plain
    assert "error: no runs" in plain
