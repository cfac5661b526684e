"""Make a small fixture of a run: an archive of what was recorded, and the figures its own version found in it.

    .venv/bin/python tools/record_run_fixture.py runs/20261117T111750Z-two-brokers-2ce75a two-brokers

Writes tests/fixtures/runs-<version>/<name>.tar.xz (plan, environment, state, evidence, probes, events; no logs and nothing
that an analysis makes) and <name>.json (rows of the tables as that version wrote them). Run it with the version that
made the run, before the next one is released: later versions must find the same figures.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
DOCUMENTS = ("plan.json", "environment.json", "state.json")
RECORDED = ("evidence", "probes", "events")
NEUTRAL = "/runs"  # stands for the folder the run was made in
TABLES = ("delivery", "lost_range", "run_summary", "latency_per_phase", "fault")


def main(run: Path, name: str) -> None:
    environment = json.loads((run / "environment.json").read_text())
    folder = FIXTURES / f"runs-{environment['brokerlab']}"
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{name}.tar.xz", "w:xz", preset=9) as archive:
        for path, content in _files(run.resolve()):
            member = tarfile.TarInfo(f"{run.name}/{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    (folder / f"{name}.json").write_text(json.dumps(_figures(run), indent=1, ensure_ascii=False) + "\n")


def _files(run: Path) -> Iterator[tuple[Path, bytes]]:
    """Documents with the place of the run replaced; evidence as it is, which must not name that place."""
    here = str(run.parent)
    for name in DOCUMENTS:
        yield Path(name), (run / name).read_text().replace(here, NEUTRAL).encode()
    for path in sorted(p for root in RECORDED for p in (run / root).rglob("[!.]*.parquet")):
        content = path.read_bytes()
        for column in pq.read_table(path).to_pydict().values():
            if any(isinstance(value, str) and here in value for value in column):
                raise SystemExit(f"{path} names {here}: evidence must not be changed, choose another run")
        yield path.relative_to(run), content


def _figures(run: Path) -> dict[str, Any]:
    verdict = json.loads((run / "verdict.json").read_text())
    tables = {name: pq.read_table(run / "tables" / name).to_pylist() for name in TABLES}
    judged = {name: verdict[name] for name in ("delivery", "delivery_violated")}
    return {"verdict": judged, "tables": tables}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2])
