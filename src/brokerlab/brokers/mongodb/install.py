"""FerretDB, built from its pinned source, and a PostgreSQL with DocumentDB from Debian packages; or a mongod on PATH."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerlab.brokers.kit.recipes import FromDebian, FromGo
from brokerlab.brokers.kit.together import Together

if TYPE_CHECKING:
    from brokerlab.install.debian import DebianRoot

FERRETDB = "2.7.0"
_PROGRAMS = Path("usr/lib/postgresql/18/bin")
_POSTGIS = Path("usr/share/postgresql/18/extension/postgis.control")


@dataclass(frozen=True)
class DocumentdbRecipe(FromDebian):
    """`programs` is the directory of PostgreSQL's."""

    def programs_in(self, root: DebianRoot) -> Path | None:
        whole = (root.path / _PROGRAMS / self.program).is_file() and (root.path / _POSTGIS).is_file()
        return root.path / _PROGRAMS if whole else None

    def reason(self, root: DebianRoot) -> str:
        versions = f"PostgreSQL {root.version('postgresql-18')} with DocumentDB {root.version(self.packages[0])}"
        return f"{versions} {super().reason(root)}"

    def prepare(self, root: DebianRoot) -> None:
        """PostGIS, which DocumentDB needs, is found by a link that its package makes when it is installed in earnest."""
        if not (root.path / _POSTGIS).exists():
            (root.path / _POSTGIS).symlink_to("postgis-3.control")


_FOLDER = Path(__file__).parent
_DOCUMENTDB = DocumentdbRecipe(
    broker="mongodb",
    version="18",
    server="mongodb",
    program="postgres",
    packages=("postgresql-18-documentdb",),
    lock_file=_FOLDER / "mongodb.lock",
    majors=(0, 1),
    only_suite="sid",
)
_GO_PACKAGE = "github.com/FerretDB/FerretDB/v2/cmd/ferretdb"
_FERRETDB = FromGo("mongodb", FERRETDB, "mongodb", "ferretdb", _GO_PACKAGE, _FOLDER / "ferretdb.mod")
RECIPE = Together(  # `programs` are the directory of PostgreSQL's, and FerretDB; or a mongod
    broker="mongodb",
    version=f"FerretDB {FERRETDB} on PostgreSQL 18",
    server="mongodb",
    program="mongod",
    own_product="MongoDB",
    parts=(_DOCUMENTDB, _FERRETDB),
)
