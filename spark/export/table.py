"""What an export needs of a table that it adds its files to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """Files that come into a table together.

    Attributes:
        export: The id of the export.
        number: Of the commit in it, counted from 1.
        files: Their places below the export's folder; they are there, complete and flushed.
    """

    export: str
    number: int
    files: tuple[str, ...]


class ExportTable(Protocol):
    """A table, open."""

    def add(self, commit: TableCommit) -> None:
        """Add the files, unless the table has this commit already.

        Raises:
            ExportImpossible: the table does not take them.
        """
        ...
