"""brokerlab init [FILE]"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli.text import print_json


@click.command()
@click.argument("file", default="workload.yaml", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of workload files (for editors) instead.")
def command(file: Path, force: bool, schema: bool) -> int:
    """Write a commented workload to FILE (default workload.yaml)."""
    from brokerlab.errors import UserError

    if schema:
        from brokerlab.workload.schema import json_schema

        print_json(json_schema())
        return 0
    from brokerlab.workload.template import commented_workload

    try:
        with file.open("w" if force else "x") as f:
            f.write(commented_workload())
    except FileExistsError:
        raise UserError(f"{file} already exists", hint="give another name, or use --force to overwrite it") from None
    except OSError as e:
        raise UserError(f"cannot write {file}: {e.strerror}") from None
    click.echo(f"wrote {file}; next: brokerlab plan {file}")
    return 0
