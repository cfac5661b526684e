"""An apt of our own: its own sources, lists, cache and an empty list of installed packages. The system's apt is only
asked which mirror and which proxy it uses; nothing of the system is changed, and no root is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from brokerlab.errors import InstallError
from brokerlab.install.cache import entry
from brokerlab.install.debian_lock import Package, parse_print_uris
from brokerlab.install.debian_sources import MIRROR_VARIABLE, keyring, mirror

_UPDATE_S, _DOWNLOAD_S = 900, 3600
_KEPT_FROM_SYSTEM = re.compile(
    r"Acquire::(https?|socks5h|Retries|ForceIPv4|ForceIPv6|Check-Valid-Until)\b", re.IGNORECASE
)


_NETWORK_SIGNS = ("Temporary failure", "Could not connect", "Unable to connect", "Could not resolve", "timed out")


class UnreachableError(InstallError):
    """The mirror does not answer: no other suite of it would."""


def why_not_here() -> str | None:
    """In one line, why Debian packages cannot be fetched on this machine; None when they can."""
    if shutil.which("apt-get") is None:
        return "needs apt-get (a Debian-like system) to fetch and verify the packages"
    if keyring() is None:
        return "needs Debian's archive keyring (package debian-archive-keyring) to verify the packages"
    if mirror() is None:
        return f"the system's apt sources name no Debian mirror; {MIRROR_VARIABLE} can"
    return None


def debs_directory() -> Path:
    """Where .deb files are kept; apt needs `partial` below it, and goes on with what it finds there."""
    directory = entry("debian", "debs", "partial")
    directory.mkdir(parents=True, exist_ok=True)
    return directory.parent


class PrivateApt:
    """apt-get for one suite. Call under a lock: two at once would share the lists."""

    def __init__(self, suite: str) -> None:
        reason = why_not_here()
        if reason is not None:
            raise InstallError(reason, hint="install the server yourself and name it in BROKERLAB_PREFER_PATH")
        self.suite = suite
        self._directory = entry("debian", "apt", suite)
        self._updated = False

    def update(self) -> None:
        """Fetch the suite's index, verified by the distribution's keys. Once per object."""
        if self._updated:
            return
        self._write_configuration()
        self._run("update", seconds=_UPDATE_S)
        self._updated = True

    def closure(self, packages: Sequence[str]) -> list[Package]:
        """These packages and everything they depend on, as if nothing were installed."""
        self.update()
        # The kept .deb files must not shorten the answer, so the archive directory is an empty one here.
        empty = self._directory / "no-archives"
        (empty / "partial").mkdir(parents=True, exist_ok=True)
        said = self._run("--print-uris", "install", *packages, options=(f"Dir::Cache::archives={empty}",))
        return parse_print_uris(said)

    def download(self, packages: Sequence[Package], on_share: Callable[[float], None]) -> None:
        """Bring these .deb files into `debs_directory`; apt checks their hashes against the signed index. A file that
        was interrupted goes on where it was."""
        self.update()
        wanted = [f"{p.name}={p.version}" for p in packages]
        self._run("--download-only", "install", *wanted, seconds=_DOWNLOAD_S, on_share=on_share)

    def _write_configuration(self) -> None:
        for part in ("etc/parts", "etc/sources.parts", "etc/preferences.parts", "state/lists/partial", "cache"):
            (self._directory / part).mkdir(parents=True, exist_ok=True)
        (self._directory / "state" / "status").write_bytes(b"")
        etc = self._directory / "etc"
        # apt uses a `file:` mirror in place; we want its packages in our cache like any other's.
        where = re.sub(r"^file:", "copy:", mirror() or "")
        (etc / "sources.list").write_text(f"deb [signed-by={keyring()}] {where} {self.suite} main\n")
        configuration = etc / "apt.conf"
        configuration.touch(mode=0o600)  # a proxy's address may hold a password
        configuration.write_text(self._configuration())

    def _configuration(self) -> str:
        home = self._directory
        values = {
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": home / "etc/parts",
            "Dir::Etc::sourcelist": home / "etc/sources.list",
            "Dir::Etc::sourceparts": home / "etc/sources.parts",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": home / "etc/preferences.parts",
            "Dir::State": home / "state",
            "Dir::State::lists": home / "state/lists",
            "Dir::State::status": home / "state/status",
            "Dir::State::extended_states": home / "state/extended_states",
            "Dir::Cache": home / "cache",
            "Dir::Cache::archives": debs_directory(),
            "Dir::Log": home / "state",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",  # as root apt would change to a user who may not write here
            "APT::Update::Error-Mode": "any",  # without it a failed index is a warning and exit code 0
            "Acquire::Languages": "none",
            "Acquire::ForceHash": "SHA256",
            "Acquire::Retries": "3",
        }
        return "".join(f'{name} "{value}";\n' for name, value in values.items()) + "\n".join(_from_system()) + "\n"

    def _run(
        self,
        *arguments: str,
        seconds: float = 120,
        options: Sequence[str] = (),
        on_share: Callable[[float], None] | None = None,
    ) -> str:
        """apt-get's output. Raises InstallError with its own words."""
        command = ["apt-get", "-q", "-y", "--no-install-recommends", "--allow-downgrades"]
        command += [word for option in options for word in ("-o", option)]
        # APT_CONFIG is read before anything else and points apt away from /etc/apt, whose hooks delete system files.
        env = {**os.environ, "APT_CONFIG": str(self._directory / "etc" / "apt.conf"), "LC_ALL": "C.UTF-8"}
        command += ["-o", "APT::Status-Fd=1"] if on_share else []
        with subprocess.Popen(
            [*command, *arguments], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        ) as process:  # fmt: skip
            said = _listen(process, seconds, on_share)
        if process.returncode != 0:
            raise _explained(arguments[0], self.suite, said)
        return said


def _listen(process: subprocess.Popen[str], seconds: float, on_share: Callable[[float], None] | None) -> str:
    if on_share is None:
        try:
            return process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired as e:
            process.kill()
            raise InstallError(
                f"apt-get did not answer for {seconds:g} s", hint="check the network and try again"
            ) from e
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        # dlstatus:2:40.5:Retrieving file 2 of 5
        status = line.split(":")
        if status[0] == "dlstatus" and len(status) > 2:
            on_share(min(1.0, float(status[2]) / 100))
        else:
            lines.append(line)
    process.wait()
    return "".join(lines)


def _from_system() -> list[str]:
    """The system's own ways to the network (proxies, retries), but none of its hooks."""
    if shutil.which("apt-config") is None:
        return []
    done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return [line for line in done.stdout.splitlines() if _KEPT_FROM_SYSTEM.match(line) and not line.endswith(' "";')]


def _explained(action: str, suite: str, said: str) -> InstallError:
    errors = [line for line in said.splitlines() if line.startswith(("E:", "W:", "Err"))]
    words = "\n".join(errors[-5:] or said.splitlines()[-5:])
    if "NO_PUBKEY" in said or "not signed" in said or "BADSIG" in said:
        hint = "the archive is not signed by the keys this system trusts: update debian-archive-keyring; do not continue without it"
    elif "Unable to locate" in said or "no installation candidate" in said:
        hint = "the suite no longer has this package: a newer brokerlab names another one"
    else:
        hint = f"check the network and try again; what was fetched is kept. {MIRROR_VARIABLE} names a mirror"
    kind = UnreachableError if any(sign in said for sign in _NETWORK_SIGNS) else InstallError
    return kind(f"apt-get {action} for Debian {suite} failed:\n{words}", hint=hint)
