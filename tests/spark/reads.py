"""Reads as Spark's planner and workers do them, without a JVM: everything goes through pickle on its way."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from pyspark_rocketmq import DefaultSource

Row = dict[str, Any]


def _sent(value: Any) -> Any:
    """A value as it comes to another process of Spark."""
    dumps: Any = cloudpickle.dumps
    return cloudpickle.loads(dumps(value))


class Read:
    """A planned read: its reader as the workers get it, and its partitions."""

    def __init__(
        self, path: Path | str | None, *, filters: Iterable[Filter] = (), schema: Any = None, **options: Any
    ) -> None:
        pushed = list(filters)
        options = ({"pushFilters": "true"} if pushed else {}) | options
        texts = {name: str(value) for name, value in options.items()} | ({} if path is None else {"path": str(path)})
        source = _sent(DefaultSource(CaseInsensitiveDict(texts)))
        self.schema = schema or source.schema()
        reader: DataSourceReader = source.reader(self.schema)
        if pushed:
            # As data_source_pushdown_filters does: those that come back are Spark's to evaluate.
            assert list(reader.pushFilters(pushed)) == pushed
        self.reader: DataSourceReader = _sent(reader)
        self.partitions: list[InputPartition] = [
            pickle.loads(pickle.dumps(partition)) for partition in reader.partitions()
        ]

    def batches(self, number: int) -> list[pa.RecordBatch]:
        """What a worker gives for a partition."""
        found = self.reader.read(self.partitions[number])
        assert isinstance(found, Iterator)
        batches = list(found)
        expected = to_arrow_schema(self.schema, timezone="UTC")
        for batch in batches:
            assert batch.schema.equals(expected)
            assert batch.num_rows
            batch.validate(full=True)
        return batches

    def rows(self) -> list[Row]:
        """All rows, partition by partition."""
        return [
            row for number in range(len(self.partitions)) for batch in self.batches(number) for row in batch.to_pylist()
        ]


def read(path: Path | str, **options: Any) -> list[Row]:
    """All rows of a read."""
    return Read(path, **options).rows()


def keyed(rows: Iterable[Row]) -> dict[tuple[str, int], Row]:
    """Rows by broker and physical offset, each there once."""
    found: dict[tuple[str, int], Row] = {}
    for row in rows:
        key = row.get("broker", ""), row["physical_offset"]
        assert key not in found
        found[key] = row
    return found
