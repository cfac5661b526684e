"""FerretDB, built from its pinned source, and a PostgreSQL with DocumentDB from Debian packages; or a mongod on PATH."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.brokers.contract import Progress
from brokerlab.brokers.kit.recipes import Found, FromDebian

if TYPE_CHECKING:
    from brokerlab.install.debian import DebianRelease, DebianRoot

FERRETDB = "2.7.0"
_PACKAGE = "github.com/FerretDB/FerretDB/v2/cmd/ferretdb"
_GO_LOCK = Path(__file__).with_name("ferretdb.mod")
_POSTGRESQL = Path("usr/lib/postgresql/18/bin")
_EXTENSIONS = Path("usr/share/postgresql/18/extension")
_PACKAGES_SHARE = 0.5  # of the whole work


@dataclass(frozen=True)
class Programs:
    """What is started: a mongod of the user's, or FerretDB and the PostgreSQL in `postgresql`, a directory."""

    mongod: Path | None = None
    ferretdb: Path = Path()
    postgresql: Path = Path()


@dataclass(frozen=True)
class MongodbRecipe(FromDebian):
    """`programs` are Programs."""

    def release(self) -> DebianRelease:
        """Only the unstable suite has DocumentDB."""
        from brokerlab.install.debian import DebianRelease

        return DebianRelease(self.packages, self.lock_file, self.majors, "sid", ())

    def preferred(self) -> Found | None:
        own = super().preferred()
        if own is None or own.location is None:
            return None
        return Found(Programs(mongod=own.location), f"MongoDB {own.version}", own.reason, own.location)

    def programs_in(self, root: DebianRoot) -> Programs | None:
        from brokerlab.install.go import built_program

        ferretdb, postgresql = built_program(_PACKAGE, _GO_LOCK), root.path / _POSTGRESQL
        whole = (postgresql / "postgres").is_file() and (root.path / _EXTENSIONS / "postgis.control").is_file()
        return Programs(ferretdb=ferretdb, postgresql=postgresql) if whole and ferretdb is not None else None

    def fetched(self) -> Found | None:
        found = super().fetched()
        if found is None:
            return None
        return Found(found.programs, self.version, f"{found.reason}; FerretDB built from source", found.location)

    def reason(self, root: DebianRoot) -> str:
        versions = f"PostgreSQL {root.version('postgresql-18')} with DocumentDB {root.version(self.packages[0])}"
        return f"{versions} {super().reason(root)}"

    def impossible(self) -> str | None:
        from brokerlab.install.go import go_problem

        return super().impossible() or go_problem()

    def fetch_ours(self, progress: Progress) -> None:
        from brokerlab.install.go import build_program

        super().fetch_ours(lambda what, share: progress(what, share * _PACKAGES_SHARE))
        build_program(_PACKAGE, _GO_LOCK, lambda what, share: progress(what, _PACKAGES_SHARE * (1 + share)))

    def prepare(self, root: DebianRoot) -> None:
        """PostGIS, which DocumentDB needs, is found by a link that its package makes when it is installed in earnest."""
        link = root.path / _EXTENSIONS / "postgis.control"
        if not link.exists():
            link.symlink_to("postgis-3.control")


RECIPE = MongodbRecipe(
    broker="mongodb",
    version=f"FerretDB {FERRETDB} on PostgreSQL 18",
    server="mongodb",
    program="mongod",
    packages=("postgresql-18-documentdb",),
    lock_file=Path(__file__).with_name("mongodb.lock"),
    majors=(0, 1),
)
