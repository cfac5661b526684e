"""Where servers come from: the user's own on PATH where that is preferred, else a wheel, Debian packages, jars or Go modules
that a lock file names, in the cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerlab.brokers.contract import Installation, Progress
from brokerlab.errors import EndpointOnlyError, InstallError

if TYPE_CHECKING:
    from brokerlab.install.debian import DebianRelease, DebianRoot
    from brokerlab.install.java import Java
    from brokerlab.install.maven import Artifact


@dataclass(frozen=True)
class Found:
    """An installation. `programs` is what a cluster is started from, as the recipe's broker needs it."""

    programs: Any
    version: str
    reason: str  # where it comes from
    location: Path | None


@dataclass(frozen=True)
class Recipe(ABC):
    """Looks, and installs. `broker` is the name that `brokerlab install` takes, `version` what would be installed."""

    broker: str
    version: str

    @abstractmethod
    def found(self) -> Found | None:
        """What is here already, complete. Fast; installs nothing."""

    @abstractmethod
    def fetch(self, progress: Progress) -> None:
        """Bring everything into the cache, unless the user's own server is preferred. Raises InstallError."""

    def impossible(self) -> str | None:
        """In one line why it cannot be installed here; None where it can."""
        return None

    def lacking(self) -> str:
        """What is not here, in a few words."""
        return "not installed"

    def preferred_name(self) -> str | None:
        """The name by which users may prefer a server of their own; None where that is not offered."""
        return None

    def installation(self) -> Installation:
        found = self.found()
        if found is not None:
            return Installation(True, True, found.version, found.reason, found.location)
        problem = self.impossible()
        if problem is not None:
            return Installation(False, False, self.version, problem)
        return Installation(False, True, self.version, f"{self.lacking()}: brokerlab install {self.broker}")

    def install(self, progress: Progress) -> Installation:
        self.fetch(progress)
        made = self.installation()
        if not made.installed:
            raise InstallError(
                f"{self.broker} was fetched and is still not complete: {made.reason}",
                hint="delete what the cache has of it and install again",
            )
        return made

    def programs(self) -> Any:
        """What a cluster is started from. Raises InstallError where it is not installed."""
        found = self.found()
        if found is None:
            raise InstallError(f"{self.broker} cannot start: {self.lacking()}", hint=f"brokerlab install {self.broker}")
        return found.programs


@dataclass(frozen=True)
class Shipped(Recipe):
    """A server that is part of brokerlab."""

    def found(self) -> Found:
        return Found(None, self.version, "ships with brokerlab", None)

    def fetch(self, progress: Progress) -> None:
        progress("nothing to install", 1.0)


@dataclass(frozen=True)
class ByEndpoint(Recipe):
    """A server that is never started here: only one that the user runs can be used. `why` says in a few words why."""

    why: str

    def found(self) -> None:
        return None

    def impossible(self) -> str:
        return f"{self.why}: give the address of one you run with --endpoint"

    def fetch(self, progress: Progress) -> None:  # noqa: ARG002
        raise EndpointOnlyError(f"{self.broker} is not installed: {self.why}", hint="give --endpoint for one you run")

    def programs(self) -> Any:
        self.fetch(lambda _what, _share: None)


@dataclass(frozen=True)
class ServerRecipe(Recipe):
    """A server program `program`, which the user may have already: preferred by the name `server`."""

    server: str
    program: str
    own_product: str = field(default="", kw_only=True)  # what the user's own is, where another product stands in for it

    def preferred_name(self) -> str:
        return self.server

    def preferred(self) -> Found | None:
        """The user's own, where that is wanted and it is there."""
        from brokerlab.install.preferred import said_version, server_on_path

        own = server_on_path(self.server, self.program)
        if own is None:
            return None
        return Found(own, f"{self.own_product} {said_version(own)}".strip(), f"{own}, found on PATH", own)

    @abstractmethod
    def fetched(self) -> Found | None:
        """What an earlier `fetch` has brought."""

    def found(self) -> Found | None:
        return self.preferred() or self.fetched()

    @abstractmethod
    def fetch_ours(self, progress: Progress) -> None: ...

    def fetch(self, progress: Progress) -> None:
        if self.preferred() is None:
            self.fetch_ours(progress)


@dataclass(frozen=True)
class FromWheel(ServerRecipe):
    """`programs` is the program inside the wheel, wherever pip has put its scripts."""

    wheel: str
    lock_file: Path

    def fetched(self) -> Found | None:
        from brokerlab.install.wheel import installed_wheel

        directory = installed_wheel(self.wheel, self.lock_file)
        inside = [] if directory is None else sorted(p for p in directory.rglob(self.program) if p.is_file())
        return Found(inside[0], self.version, f"from the wheel {self.wheel}", inside[0]) if inside else None

    def fetch_ours(self, progress: Progress) -> None:
        from brokerlab.install.wheel import install_wheel

        install_wheel(self.wheel, self.lock_file, progress)


@dataclass(frozen=True)
class FromDebian(ServerRecipe):
    """`programs` is `program` in `directory` of the packages' private root, unless a subclass wants more."""

    packages: tuple[str, ...]  # the first has the version
    lock_file: Path
    majors: tuple[int, ...]  # versions that will do
    only_suite: str | None = None  # where no other suite has them
    directory: str = "usr/bin"  # of the program
    links: Mapping[str, str] = field(
        default_factory=dict
    )  # that packages make when they are installed in earnest -> target
    parts_told: Mapping[str, str] = field(default_factory=dict)  # what else it consists of -> package

    def release(self) -> DebianRelease:
        from brokerlab.install.debian import DebianRelease

        release = DebianRelease(self.packages, self.lock_file, self.majors)
        return release if self.only_suite is None else replace(release, suite=self.only_suite, fallback_suites=())

    def programs_in(self, root: DebianRoot) -> Any:
        """None where something is missing."""
        program = root.path / self.directory / self.program
        return program if program.is_file() and all((root.path / link).is_file() for link in self.links) else None

    def fetched(self) -> Found | None:
        from brokerlab.install.debian import installed_debian

        root = installed_debian(self.server, self.release())
        programs = None if root is None else self.programs_in(root)
        if root is None or programs is None:
            return None
        return Found(programs, root.version(self.packages[0]), self.reason(root), root.path)

    def reason(self, root: DebianRoot) -> str:
        parts = [f"{name} {root.version(package)}" for name, package in self.parts_told.items()]
        return f"from Debian {root.suite}, in a private root" + (f", with {' and '.join(parts)}" if parts else "")

    def impossible(self) -> str | None:
        from brokerlab.install.debian import debian_problem

        return debian_problem()

    def fetch_ours(self, progress: Progress) -> None:
        from brokerlab.install.debian import install_debian

        self.prepare(install_debian(self.server, self.release(), progress))

    def prepare(self, root: DebianRoot) -> None:
        """What an installation needs besides its files."""
        for link, target in self.links.items():
            if not (root.path / link).exists():
                (root.path / link).symlink_to(target)


@dataclass(frozen=True)
class FromGo(ServerRecipe):
    """`programs` is the program, built here from the source that `lock_file` pins (install.go). Its name is the last part
    of `package`."""

    package: str
    lock_file: Path

    def fetched(self) -> Found | None:
        from brokerlab.install.go import built_program

        built = built_program(self.package, self.lock_file)
        reason = f"{self.program} built here from pinned Go modules"
        return None if built is None else Found(built, self.version, reason, built)

    def impossible(self) -> str | None:
        from brokerlab.install.go import go_problem

        return go_problem()

    def fetch_ours(self, progress: Progress) -> None:
        from brokerlab.install.go import build_program

        build_program(self.package, self.lock_file, progress)


@dataclass(frozen=True)
class JavaServer:
    """What a server in Java is started with: a runtime, and every jar of the lock file in its order."""

    java: Java
    jars: tuple[Path, ...]


@dataclass(frozen=True)
class FromMaven(Recipe):
    """`programs` is a JavaServer."""

    lock_file: Path

    def _jars(self) -> tuple[Path, ...] | None:
        from brokerlab.install.maven import missing, read_lock

        artifacts = read_lock(self.lock_file)
        return None if missing(artifacts) else tuple(a.path for a in artifacts)

    def found(self) -> Found | None:
        from brokerlab.install.java import find_java

        jars, java = self._jars(), find_java()
        if jars is None or java is None:
            return None
        reason = f"jars by lock file, Java {java.version} from {java.source}"
        return Found(JavaServer(java, jars), self.version, reason, jars[0].parent.parent)

    def lacking(self) -> str:
        from brokerlab.install.java import LEAST_VERSION

        return "not installed" if self._jars() is None else f"no Java {LEAST_VERSION} or newer"

    def fetch(self, progress: Progress) -> None:
        from brokerlab.install.java import need_java
        from brokerlab.install.maven import install_artifacts, read_lock

        need_java(progress)
        install_artifacts(read_lock(self.lock_file), progress)


@dataclass(frozen=True)
class FromMavenArchive(FromMaven):
    """`programs` is a JavaServer with the jars in the folder `lib` of the lock's one archive, which is unpacked, and then
    those that the lock names themselves."""

    def _jars(self) -> tuple[Path, ...] | None:
        from brokerlab.install.maven import missing

        archive, others = self._parts()
        inside = sorted(self._unpacked(archive).glob("*/lib/*.jar"))
        return None if not inside or missing(others) else (*inside, *(a.path for a in others))

    def fetch(self, progress: Progress) -> None:
        import tarfile

        from brokerlab.install.cache import exclusive, new_directory
        from brokerlab.install.tar import unpack

        if self.found() is None:
            super().fetch(progress)
        archive, _ = self._parts()
        directory = self._unpacked(archive)
        with exclusive(directory):
            if not directory.is_dir():
                with new_directory(directory) as temporary, tarfile.open(archive.path) as packed:
                    unpack(packed, temporary)
        progress(self.broker, 1.0)

    def _parts(self) -> tuple[Artifact, list[Artifact]]:
        from brokerlab.install.maven import read_lock

        artifacts = read_lock(self.lock_file)
        (archive,) = (a for a in artifacts if a.extension == "tar.gz")
        return archive, [a for a in artifacts if a is not archive]

    def _unpacked(self, archive: Artifact) -> Path:
        from brokerlab.install.cache import entry

        return entry(self.broker, f"{archive.version}-{archive.sha256[:16]}")
