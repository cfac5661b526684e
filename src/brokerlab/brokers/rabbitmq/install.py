"""RabbitMQ and its Erlang from Debian packages, or those on PATH, and the programs found in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from brokerlab.brokers.contract import Installation, Progress
from brokerlab.errors import InstallError
from brokerlab.install.cache import write_whole
from brokerlab.install.debian import DebianRelease, DebianRoot, debian_problem, install_debian, installed_debian
from brokerlab.install.preferred import server_on_path

VERSION = "4.0.5"  # of the suite that is the default; what was really installed is asked of the installation
_NAME = "rabbitmq"
_RELEASE = DebianRelease(("rabbitmq-server",), Path(__file__).with_name("rabbitmq.lock"), (4,))
_ROOTDIR = re.compile(r"^(\s*)ROOTDIR=.*$", re.MULTILINE)


@dataclass(frozen=True)
class Programs:
    """What is started. `server` runs in the foreground; `erlang` has a bin directory that must come first on PATH."""

    server: Path
    erlang: Path
    epmd: Path
    version: str


def installation() -> Installation:
    """Whether it is here. Fast, and installs nothing."""
    own = preferred_programs()
    if own is not None:
        return Installation(True, True, own.version, f"{own.server}, found on PATH", own.server)
    root = installed_debian(_NAME, _RELEASE)
    if root is not None and (found := programs(root)) is not None:
        reason = f"from Debian {root.suite} packages, Erlang {root.version('erlang-base')}"
        return Installation(True, True, found.version, reason, found.server)
    problem = debian_problem()
    if problem is not None:
        return Installation(False, False, VERSION, problem)
    return Installation(False, True, VERSION, "not installed: brokerlab install rabbitmq-quorum")


def install(progress: Progress) -> Installation:
    if preferred_programs() is not None:
        return installation()
    root = install_debian(_NAME, _RELEASE, progress)
    erlang = root.path / "usr/lib/erlang"
    for script in (erlang / "bin" / "erl", *erlang.glob("erts-*/bin/erl")):
        _set_root(script.resolve(), erlang)
    if programs(root) is None:
        raise InstallError(f"no RabbitMQ server in {root.path}", hint="delete that directory and install again")
    return installation()


def installed_programs() -> Programs:
    own = preferred_programs()
    if own is not None:
        return own
    root = installed_debian(_NAME, _RELEASE)
    found = None if root is None else programs(root)
    if found is None:
        raise InstallError("RabbitMQ is not installed", hint="brokerlab install rabbitmq-quorum")
    return found


def preferred_programs() -> Programs | None:
    """RabbitMQ and Erlang on PATH, where the user prefers them and both are there."""
    command, erl = server_on_path(_NAME, "rabbitmq-server"), server_on_path(_NAME, "erl")
    if command is None or erl is None:
        return None
    script = command.resolve()
    # A distribution's command is a wrapper that wants root or a user called rabbitmq: take the script behind it.
    behind = sorted(command.parent.parent.glob("lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server"))
    server = script if script.parent.parent.name.startswith("rabbitmq_server-") else next(iter(behind), None)
    erlang = erl.resolve().parent.parent
    epmd = next(iter(sorted(erlang.glob("erts-*/bin/epmd"))), None)
    if server is None or epmd is None:
        return None
    return Programs(server, erlang, epmd, server.parent.parent.name.removeprefix("rabbitmq_server-"))


def programs(root: DebianRoot) -> Programs | None:
    """None when something is missing, or Erlang has not been told yet where it lies."""
    erlang = root.path / "usr/lib/erlang"
    # Not Debian's own wrapper in usr/sbin: it wants root or a user called rabbitmq.
    server = next(iter(sorted(root.path.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server"))), None)
    epmd = next(iter(sorted(erlang.glob("erts-*/bin/epmd"))), None)
    if server is None or epmd is None or not _knows(erlang / "bin" / "erl", erlang):
        return None
    return Programs(server, erlang, epmd, root.version("rabbitmq-server"))


def _set_root(script: Path, erlang: Path) -> None:
    """Erlang's start script names the place it was packaged for. Idempotent."""
    if not _knows(script, erlang):
        text = _ROOTDIR.sub(lambda m: f'{m[1]}ROOTDIR="{erlang}"', script.read_text())
        write_whole(script, text.encode())
        script.chmod(0o755)


def _knows(script: Path, erlang: Path) -> bool:
    try:
        return f'ROOTDIR="{erlang}"' in script.read_text()
    except OSError:
        return False
