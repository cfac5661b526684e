"""What the JSON documents of a run directory have in common: how they meet those of other versions.

A field that came later has a default, so that older documents load. A field that this version does not know was added by
a newer one: it is kept, so that writing the document again loses nothing, and otherwise ignored. A document whose meaning
has changed has a higher `schema_version` and is refused.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from brokerlab import __version__

SCHEMA_VERSION = 1


def _not_newer(version: int) -> int:
    if version > SCHEMA_VERSION:
        raise ValueError(
            f"version {version} of the document is newer than {SCHEMA_VERSION}, which brokerlab {__version__} reads:"
            " update brokerlab"
        )
    return version


SchemaVersion = Annotated[int, AfterValidator(_not_newer)]


class Document(BaseModel):
    """An immutable value that loads from older and newer files."""

    model_config = ConfigDict(frozen=True, extra="allow")
