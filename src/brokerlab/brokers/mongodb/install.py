"""FerretDB, built from its pinned source, and a PostgreSQL with DocumentDB from Debian packages; or a mongod on PATH."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.kit.recipes import FromDebian, FromGo
from brokerlab.brokers.kit.together import Together

FERRETDB = "2.7.0"
_FOLDER = Path(__file__).parent
_POSTGRESQL = FromDebian(
    broker="mongodb",
    version="18",
    server="mongodb",
    program="postgres",
    packages=("postgresql-18-documentdb",),
    lock_file=_FOLDER / "mongodb.lock",
    majors=(0, 1),
    only_suite="sid",
    directory="usr/lib/postgresql/18/bin",
    links={"usr/share/postgresql/18/extension/postgis.control": "postgis-3.control"},  # DocumentDB needs PostGIS
    parts_told={"PostgreSQL": "postgresql-18", "DocumentDB": "postgresql-18-documentdb"},
)
_FERRETDB = FromGo(
    broker="mongodb",
    version=FERRETDB,
    server="mongodb",
    program="ferretdb",
    package="github.com/FerretDB/FerretDB/v2/cmd/ferretdb",
    lock_file=_FOLDER / "ferretdb.mod",
)
RECIPE = Together(  # `programs` are postgres and ferretdb; or a mongod alone
    broker="mongodb",
    version=f"FerretDB {FERRETDB} on PostgreSQL 18",
    server="mongodb",
    program="mongod",
    own_product="MongoDB",
    parts=(_POSTGRESQL, _FERRETDB),
)
