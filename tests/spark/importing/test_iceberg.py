"""What of an Iceberg table is sent, what a checkpoint keeps; compat_tests/spark/test_import.py has what Spark does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rocketwire.spark.errors import ImportImpossible, OptionInvalid

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyiceberg.catalog.sql")
iceberg = pytest.importorskip("rocketwire.spark.importing.iceberg")

COLUMNS = pa.schema([("body", pa.string()), ("keys", pa.list_(pa.string())), ("at", pa.timestamp("us", "UTC"))])


@pytest.fixture
def table(tmp_path: Path) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path / 'catalog.db'}", warehouse=f"file://{tmp_path / 'wh'}")
    catalog.create_namespace("shop")
    return catalog.create_table("shop.orders", schema=COLUMNS)


def rows(*bodies: str) -> Any:
    return pa.Table.from_pylist([{"body": body, "keys": [f"k{body}"], "at": 1} for body in bodies], schema=COLUMNS)


def read(table: Any, tasks: Iterable[Any]) -> list[str]:
    """The bodies of files, as a worker reads them."""
    import pickle

    from pyspark.sql.types import ArrayType, StringType, StructField, StructType, TimestampType

    types = {"body": StringType(), "keys": ArrayType(StringType()), "at": TimestampType()}
    schema = StructType([StructField(name, kind) for name, kind in types.items()])
    reading = pickle.loads(pickle.dumps(iceberg.TableFileReader(table, schema)))
    packed = pa.record_batch([pa.array([pickle.dumps(task) for task in tasks])], names=["task"])
    found = [row for batch in reading([packed]) for row in batch.to_pylist()]
    assert all(row["keys"] == [f"k{row['body']}"] for row in found)
    return [row["body"] for row in found]


def sent(table: Any, done: Any, most: int = 16, skipped: Iterable[str] = ()) -> tuple[list[list[str]], Any]:
    """The bodies of each batch, and what is sent after all of them."""
    found = []
    for batch in iceberg.batches(table, done, most, skipped):
        found.append(read(table, batch.tasks))
        assert batch.rows == len(found[-1])
        done = batch.after
    return found, done


def begun(table: Any) -> Any:
    return iceberg.ImportProgress(table=str(table.metadata.table_uuid))


def test_snapshots_are_sent_in_their_order_and_once(table: Any) -> None:
    assert sent(table, begun(table)) == ([], begun(table))
    table.append(rows("1", "2"))
    table.append(rows("3"))
    found, done = sent(table, begun(table))
    assert found == [["1", "2"], ["3"]]
    assert sent(table, done) == ([], done)
    table.append(rows("4"))
    assert sent(table, done)[0] == [["4"]]


def test_a_snapshot_of_many_files_continues_where_it_was_stopped(table: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    files = []
    for number in range(5):
        files.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(rows(str(number)), files[-1])
    table.add_files([f"file://{file}" for file in files])
    made = list(iceberg.batches(table, begun(table), 2, ()))
    assert [read(table, batch.tasks) for batch in made] == [["0", "1"], ["2", "3"], ["4"]]
    for number, batch in enumerate(made):
        left, _ = sent(table, batch.after, 2)
        assert left == [["2", "3"], ["4"]][number:]


def test_changed_rows_are_an_error_unless_they_are_skipped(table: Any) -> None:
    table.append(rows("1", "2"))
    _, done = sent(table, begun(table))
    table.delete("body = '1'")
    table.append(rows("3"))
    with pytest.raises(ImportImpossible, match="--option streaming-skip-"):
        sent(table, done)
    assert [batch for batch in sent(table, done, skipped=("delete", "overwrite"))[0] if batch] == [["3"]]


def test_a_renamed_column_is_read_from_older_files(table: Any) -> None:
    with table.update_schema() as change:
        change.rename_column("body", "text")
    table.append(pa.Table.from_pylist([{"text": "1", "keys": ["k1"], "at": 1}], schema=table.schema().as_arrow()))
    with table.update_schema() as change:
        change.rename_column("text", "body")
    assert sent(table, begun(table))[0] == [["1"]]


def test_removed_history_is_an_error(table: Any) -> None:
    table.append(rows("1"))
    with pytest.raises(ImportImpossible, match="no history back to snapshot 7"):
        sent(table, iceberg.ImportProgress(table="x", snapshot=7))


def test_the_checkpoint_is_of_one_table(table: Any, tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert iceberg._progress(table, state) == begun(table)
    done = iceberg.ImportProgress(table=str(table.metadata.table_uuid), snapshot=5, files=2)
    iceberg._keep(state, done)
    assert iceberg._progress(table, state) == done
    iceberg._keep(state, iceberg.ImportProgress(table="other"))
    with pytest.raises(ImportImpossible, match="the checkpoint of another table"):
        iceberg._progress(table, state)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"maxFiles": "1"}, "iceberg has no option maxFiles"),
        ({"streaming-max-files-per-micro-batch": "0"}, "streaming-max-files-per-micro-batch is 0"),
    ],
)
def test_wrong_options(options: dict[str, str], what: str) -> None:
    with pytest.raises(OptionInvalid, match=what):
        iceberg._parsed(options)


def test_options() -> None:
    assert iceberg._parsed({}) == (16, [])
    given = {"streaming-max-files-per-micro-batch": "3", "streaming-skip-delete-snapshots": "TRUE"}
    assert iceberg._parsed(given) == (3, ["delete"])


def test_a_missing_catalog() -> None:
    with pytest.raises(ImportImpossible, match=r"a\.b of the Iceberg catalog nowhere cannot be opened"):
        iceberg._opened("nowhere", "a.b")
