"""The columns of the benchmark of counts are those of its store."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.spark import counts as made
from rocketwire.spark.plan.partitions import LogSpan
from tests.spark.read.test_counts_table import counts
from tests.spark.reads import Read


def test_all_messages_are_counted_by_columns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, columns = tmp_path / "store", tmp_path / "columns"
    made.make(store, columns, 10_000)
    found = counts(store, columnCache=str(columns))
    assert not caplog.records
    assert found.total() == 10_000
    assert len({key[1:3] for key in found}) == made.TOPICS * made.TAGS
    parts = Read(store, table="counts", columnCache=str(columns)).partitions
    assert {part.end for part in parts if isinstance(part, LogSpan) and part.cache is not None} == {2_000_000}
