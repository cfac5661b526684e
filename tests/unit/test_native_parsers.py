"""Whatever a broker sends, its parser in C reads nothing it was not given and does nothing undefined.

The same inputs as `make check-native` makes, but fewer.
"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from brokerlab.native.build import compiler

CHECK = Path(__file__).parents[2] / "tools" / "check_native.py"
INPUTS = 5_000
# In the place of the parsers: all are harmless but `fetch`, which reads beyond its memory after 37 inputs.
HARMFUL = """
#include "fuzz.h"
#include <stdlib.h>
static int64_t inputs;
static void make(dice *d, input *in) { (void)d; put_text(in, "x"); }
static int64_t fine(dice *d, const input *in) { (void)d; return (int64_t)in->bytes; }
static int64_t harm(dice *d, const input *in) {
    (void)d; (void)in;
    uint8_t *one = malloc(1);
    touch(one, inputs++ == 37 ? 2 : 0);
    free(one);
    return 1;
}
#define FINE(target_name) const target target_name##_target = {#target_name, make, fine}
FINE(batch); FINE(message); FINE(produce); FINE(nats_producer); FINE(nats_consumer); FINE(pulsar_producer); FINE(pulsar_consumer);
const target fetch_target = {"fetch", make, harm};
"""


def has_sanitizers(directory: Path) -> bool:
    cc = compiler()
    if cc is None:
        return False
    source = directory / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [cc, "-fsanitize=address,undefined", "-o", str(directory / "empty"), str(source)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.timeout(900)  # the compiler takes its time on a busy machine
def test_damaged_inputs_do_no_harm(tmp_path: Path) -> None:
    if not has_sanitizers(tmp_path):
        pytest.skip("no compiler with the address and undefined sanitizers")
    command = [sys.executable, str(CHECK), "fuzz", "--inputs", str(INPUTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"{INPUTS} inputs") == 8


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tools/check_native.py as a module."""
    spec = importlib.util.spec_from_file_location("check_native", CHECK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "check_native", module)
    spec.loader.exec_module(module)
    return module


def test_an_input_that_does_harm_is_told_with_the_command_that_makes_it_again(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_sanitizers(tmp_path):
        pytest.skip("no compiler with the address and undefined sanitizers")
    fuzz = CHECK.parents[1] / "native" / "fuzz"
    source, program = tmp_path / "harmful.c", tmp_path / "fuzz"
    source.write_text(HARMFUL)
    parts = [str(source), str(fuzz / "main.c"), str(fuzz / "dice.c")]
    subprocess.run([str(compiler()), *tool.SANITIZED, f"-I{fuzz}", "-o", str(program), *parts], check=True)
    done = subprocess.run([str(program), "fetch", "60", "7", "100"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    [said] = [line for line in done.stderr.splitlines() if line.startswith("to see it again: ")]
    python, script, *arguments = shlex.split(said.removeprefix("to see it again: "))
    assert python == "python"
    assert CHECK.parents[1] / script == CHECK

    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(tool, "run", lambda *command: commands.append(command))
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    tool.main()
    assert commands[-1][1:] == ("fetch", "1", "7", "137")
