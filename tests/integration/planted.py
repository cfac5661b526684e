"""Looking for a password that was planted: in files, command lines and environments of our processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from brokerlab.model.plan import Endpoint

WRONG = "env:BROKERLAB_TEST_WRONG_PASSWORD"  # a reference that resolves, to something else


@contextmanager
def planted(reference: str, password: str) -> Iterator[None]:
    """The password is where the reference says, and WRONG can be resolved too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(reference.removeprefix("env:"), password)
        patch.setenv(WRONG.removeprefix("env:"), "something else")
        yield


def with_security(endpoint: Endpoint, **changes: object) -> Endpoint:
    """The same endpoint for somebody who knows or wants something else."""
    assert endpoint.security is not None
    return endpoint.model_copy(update={"security": endpoint.security.model_copy(update=changes)})


def files_with(part: str, directory: Path) -> list[Path]:
    """Files that hold this part of the password. There must be files, and something must be in them."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert any(path.stat().st_size > 0 for path in files), f"{directory}: nothing was written"
    return [path for path in files if part.encode() in path.read_bytes()]


def private(paths: Iterable[Path]) -> bool:
    """Whether nobody but their owner can read or write them."""
    return all(path.stat().st_mode & 0o077 == 0 for path in paths)


def shown_by_processes(part: str, *, of: Iterable[int]) -> list[str]:
    """Processes of ours with this part of the password in their command line; and servers (`of`: their pids) and their
    children with it in their environment, too."""
    found = []
    servers = {process.pid: process for pid in of for process in _family(psutil.Process(pid))}
    assert servers, "no server was looked at"
    for process in ({process.pid: process for process in _family(psutil.Process())} | servers).values():
        with contextlib.suppress(psutil.NoSuchProcess):  # ended, perhaps not yet waited for
            if any(part in argument for argument in process.cmdline()):
                found.append(f"{process} in its command line")
            if process.pid in servers and any(part in value for value in process.environ().values()):
                found.append(f"{process} in its environment")
    return found


def _family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]
