"""This package as one file that Spark hands to its executors: they need Python with pyarrow and numpy, nothing of ours."""

from __future__ import annotations

import zipfile
from pathlib import Path

import brokerlab

_WHEN = (1980, 1, 1, 0, 0, 0)  # the same code gives the same file


def package_zip(directory: Path) -> Path:
    """Write brokerlab.zip with the Python modules of this package."""
    root = Path(brokerlab.__file__).parent
    target = directory / "brokerlab.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(root.rglob("*.py")):
            name = (Path(root.name) / path.relative_to(root)).as_posix()
            packed.writestr(zipfile.ZipInfo(name, _WHEN), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target
