"""brokerlab sensors FILE"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--lines", default=1_000_000, show_default=True, type=click.IntRange(min=1), help="How many lines.")
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(min=0), help="The same seed gives the same file."
)
def command(file: Path, lines: int, seed: int) -> int:
    """Write a sensor data file (66 columns, about 220 bytes a line) for payloads of kind `lines`."""
    from brokerlab.model.quantities import format_bytes
    from brokerlab.workload.sensors import write_sensor_file

    size = write_sensor_file(file, lines, seed)
    click.echo(f"wrote {file}: {lines:,} lines, {format_bytes(size)}")
    return 0
