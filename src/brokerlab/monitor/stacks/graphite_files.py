"""The files that carbon and graphite-web read: pure functions from ports and folders to text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# One point a second for six hours, then the average of ten seconds for a week. A whisper file takes its whole size at
# once: 985 KB.
RETENTIONS = "1s:6h,10s:7d"
WEB_ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "graphite.settings", "GRAPHITE_SETTINGS_MODULE": "local_settings"}


@dataclass(frozen=True)
class GraphiteLayout:
    """Where carbon and graphite-web listen and keep their files."""

    home: Path
    line_port: int
    pickle_port: int
    query_port: int
    web_port: int

    @property
    def conf(self) -> Path:
        return self.home / "conf"

    @property
    def storage(self) -> Path:
        return self.home / "storage"

    @property
    def whisper(self) -> Path:
        return self.storage / "whisper"

    @property
    def log(self) -> Path:
        return self.storage / "log"

    @property
    def database(self) -> Path:
        return self.storage / "graphite.db"

    def folders(self) -> tuple[Path, ...]:
        return self.conf, self.whisper, self.log / "webapp"


def carbon_conf(at: GraphiteLayout) -> str:
    """carbon writes as fast as points come (the shipped example creates 50 series a minute), and tells graphite-web
    nothing about tags."""
    return f"""[cache]
STORAGE_DIR = {at.storage}
CONF_DIR = {at.conf}
LOG_DIR = {at.log}
PID_DIR = {at.storage}
LOCAL_DATA_DIR = {at.whisper}
USER =
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = {at.line_port}
PICKLE_RECEIVER_INTERFACE = 127.0.0.1
PICKLE_RECEIVER_PORT = {at.pickle_port}
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = {at.query_port}
ENABLE_UDP_LISTENER = False
ENABLE_TAGS = False
ENABLE_LOGROTATION = True
MAX_CACHE_SIZE = inf
MAX_UPDATES_PER_SECOND = inf
MAX_CREATES_PER_MINUTE = inf
LOG_UPDATES = False
LOG_CREATES = False
LOG_CACHE_HITS = False
LOG_CACHE_QUEUE_SORTS = False
LOG_LISTENER_CONN_SUCCESS = False
CARBON_METRIC_INTERVAL = 0
"""


def storage_schemas() -> str:
    return f"[every_series]\npattern = .*\nretentions = {RETENTIONS}\n"


def storage_aggregation() -> str:
    """A ten-second average exists where any of its seconds has a value."""
    return "[every_series]\npattern = .*\nxFilesFactor = 0\naggregationMethod = average\n"


def local_settings(at: GraphiteLayout) -> str:
    """graphite-web's settings; the key that signs its cookies comes from the environment, new at every start."""
    return f"""import os
SECRET_KEY = os.environ["SECRET_KEY"]
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
TIME_ZONE = "UTC"
CONF_DIR = {str(at.conf)!r}
STORAGE_DIR = {str(at.storage)!r}
WHISPER_DIR = {str(at.whisper)!r}
STANDARD_DIRS = [WHISPER_DIR]
LOG_DIR = {str(at.log / "webapp")!r}
GRAPHTEMPLATES_CONF = {str(at.conf / "graphTemplates.conf")!r}
INDEX_FILE = {str(at.storage / "index")!r}
CARBONLINK_HOSTS = ["127.0.0.1:{at.query_port}"]
LOG_ROTATION_COUNT = 2
# A line for every question would be all that its log holds.
LOGGING = {{"version": 1, "disable_existing_loggers": False, "loggers": {{"django.server": {{"level": "WARNING"}}}}}}
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {str(at.database)!r}}}}}
"""


def settings_for_migration(folder: Path, database: Path) -> None:
    """Settings with which the tables of an empty database can be made."""
    at = GraphiteLayout(folder, 0, 0, 0, 0)
    for needed in at.folders():
        needed.mkdir(parents=True, exist_ok=True)
    text = local_settings(at).replace(repr(str(at.database)), repr(str(database)))
    (folder / "local_settings.py").write_text(text)


# graphite-web imports its drawing library at the start. Where the machine has no libcairo, this takes its place.
NO_CAIRO = '''"""Stands in for cairocffi on a machine without libcairo: JSON and CSV work, pictures do not."""


class _Absent:
    def __init__(self, *_: object) -> None: ...

    def __getattr__(self, name: str) -> "_Absent":
        return _Absent()

    def __call__(self, *_: object, **__: object) -> "_Absent":
        raise RuntimeError("this machine has no libcairo, so graphite-web cannot draw; ask for format=json or csv")


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Absent()
'''
