"""Whatever a broker sends, its parser in C reads nothing it was not given and does nothing undefined.

The same inputs as `make check-native` makes, but fewer.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from brokerlab.native.build import compiler

CHECK = Path(__file__).parents[2] / "tools" / "check_native.py"
INPUTS = 5_000


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
