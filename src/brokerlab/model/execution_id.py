"""The name of one execution: one cell, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class ExecutionId(BaseModel):
    """Written "c01-r2" wherever a name is needed: folders of a run directory, keys of state.json, messages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cell: str
    repeat: int  # from 1

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Of a row of any table that has `cell` and `repeat`."""
        return cls(cell=row["cell"], repeat=row["repeat"])

    @classmethod
    def parse(cls, name: str) -> Self:
        """Of its written form. Raises ValueError for anything else."""
        cell, _, repeat = name.rpartition("-r")
        return cls(cell=cell, repeat=int(repeat))

    def __str__(self) -> str:
        return f"{self.cell}-r{self.repeat}"
