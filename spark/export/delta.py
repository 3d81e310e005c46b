"""A Delta table in the folder of an export: deltalake writes the log of the table, beside the files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from rocketwire.spark.errors import ExportImpossible, PackageMissing
from rocketwire.spark.export.ledger import TableCommit
from rocketwire.spark.export.places import values
from rocketwire.spark.schema import arrow_schema

_PARTITIONS: Final = ["topic", "day"]


class DeltaTable:
    """The table of an export's folder; the first commit makes it."""

    def __init__(self, folder: Path, columns: Sequence[str]) -> None:
        """Open it, or prepare to make it.

        Args:
            folder: The export's.
            columns: What the files have.

        Raises:
            PackageMissing: deltalake is not installed.
        """
        try:
            import deltalake
        except ImportError as error:
            raise PackageMissing("deltalake is not installed", "pip install 'rocketwire[delta]'") from error
        self._lake = deltalake
        self._folder = folder
        fields = [*arrow_schema(columns), pa.field("topic", pa.string()), pa.field("day", pa.date32())]
        self._schema = pa.schema(fields)

    def add(self, commit: TableCommit) -> None:
        """See Table: a commit is the transaction of an application, whose number the log keeps."""
        try:
            self._add(commit)
        except (self._lake.exceptions.DeltaError, OSError) as error:
            what = f"the Delta table in {self._folder} does not take files: {error}"
            raise ExportImpossible(what, "Export again: it goes on there") from error

    def _add(self, commit: TableCommit) -> None:
        from deltalake.transaction import AddAction, CommitProperties, Transaction

        properties = CommitProperties(app_transactions=[Transaction(commit.export, commit.number)])
        actions = []
        for place in commit.files:
            path = self._folder / place
            topic, day = values(place)
            found = path.stat()
            rows = pq.read_metadata(path).num_rows
            action = AddAction(
                path=place,  # deltalake escapes it
                size=found.st_size,
                partition_values={"topic": topic, "day": day},
                modification_time=int(found.st_mtime * 1000),
                data_change=True,
                stats=json.dumps({"numRecords": rows}),
            )
            actions.append(action)
        table = self._lake.DeltaTable.create(
            str(self._folder), self._lake.Schema.from_arrow(self._schema), "ignore", _PARTITIONS
        )
        if (table.transaction_version(commit.export) or 0) < commit.number:
            table.create_write_transaction(actions, "append", table.schema(), _PARTITIONS, commit_properties=properties)
