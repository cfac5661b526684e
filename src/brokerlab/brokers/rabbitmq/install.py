"""RabbitMQ and its Erlang from Debian packages, or those on PATH, and the programs found in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.brokers.kit.recipes import Found, FromDebian

if TYPE_CHECKING:
    from brokerlab.install.debian import DebianRoot

_ROOTDIR = re.compile(r"^(\s*)ROOTDIR=.*$", re.MULTILINE)


@dataclass(frozen=True)
class Programs:
    """What is started. `server` runs in the foreground; `erlang` has a bin directory that must come first on PATH."""

    server: Path
    erlang: Path
    epmd: Path


@dataclass(frozen=True)
class RabbitRecipe(FromDebian):
    """`programs` are a server's and its Erlang's."""

    def preferred(self) -> Found | None:
        """RabbitMQ and Erlang on PATH, where the user prefers them and both are there."""
        from brokerlab.install.preferred import server_on_path

        command, erl = server_on_path(self.server, self.program), server_on_path(self.server, "erl")
        if command is None or erl is None:
            return None
        script = command.resolve()
        # A distribution's command is a wrapper that wants root or a user called rabbitmq: take the script behind it.
        behind = _first(command.parent.parent, "lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server")
        server = script if script.parent.parent.name.startswith("rabbitmq_server-") else behind
        erlang = erl.resolve().parent.parent
        epmd = _first(erlang, "erts-*/bin/epmd")
        if server is None or epmd is None:
            return None
        version = server.parent.parent.name.removeprefix("rabbitmq_server-")
        return Found(Programs(server, erlang, epmd), version, f"{server}, found on PATH", server)

    def programs_in(self, root: DebianRoot) -> Programs | None:
        """None also where Erlang's own paths have not been set yet."""
        erlang = root.path / "usr/lib/erlang"
        # Not Debian's own wrapper in usr/sbin: it wants root or a user called rabbitmq.
        server = _first(root.path, "usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server")
        epmd = _first(erlang, "erts-*/bin/epmd")
        if server is None or epmd is None or not _knows(erlang / "bin" / "erl", erlang):
            return None
        return Programs(server, erlang, epmd)

    def prepare(self, root: DebianRoot) -> None:
        """Erlang's start scripts name the place they were packaged for."""
        erlang = root.path / "usr/lib/erlang"
        for script in (erlang / "bin" / "erl", *erlang.glob("erts-*/bin/erl")):
            _set_root(script.resolve(), erlang)


RECIPE = RabbitRecipe(
    broker="rabbitmq-quorum",
    version="4.0.5",  # of the suite that is the default; what was really installed is asked of the installation
    server="rabbitmq",
    program="rabbitmq-server",
    packages=("rabbitmq-server",),
    lock_file=Path(__file__).with_name("rabbitmq.lock"),
    majors=(4,),
    parts_told={"Erlang": "erlang-base"},
)


def _first(directory: Path, pattern: str) -> Path | None:
    return next(iter(sorted(directory.glob(pattern))), None)


def _set_root(script: Path, erlang: Path) -> None:
    """Idempotent."""
    from brokerlab.install.cache import write_whole

    if not _knows(script, erlang):
        text = _ROOTDIR.sub(lambda m: f'{m[1]}ROOTDIR="{erlang}"', script.read_text())
        write_whole(script, text.encode())
        script.chmod(0o755)


def _knows(script: Path, erlang: Path) -> bool:
    try:
        return f'ROOTDIR="{erlang}"' in script.read_text()
    except OSError:
        return False
