"""Exports into tables of Delta and Iceberg: each file is in the table once, wherever a run is killed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.spark.errors import ExportImpossible, OptionInvalid, PackageMissing
from rocketwire.spark.export import ExportFormat, ExportResult, export, exporting, ledger
from rocketwire.spark.export.delta import DeltaTable
from rocketwire.spark.export.iceberg import IcebergTable
from rocketwire.spark.request.option_parsing import read_options
from tests.spark.export.runs import Bar, Session
from tests.store.support import draft, open_store, small

deltalake = pytest.importorskip("deltalake")
config: Any = pytest.importorskip("pyiceberg.catalog")

TOPICS = ("Orders", "%RETRY%g", "T_2")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    places = {"type": "sql", "uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path / 'wh'}"}
    # pyiceberg reads its configuration when it is imported.
    monkeypatch.setattr(config._ENV_CONFIG, "config", {"catalog": {"test": places}})
    fill(tmp_path / "store", range(60))
    return tmp_path / "store"


def fill(root: Path, numbers: range) -> None:
    opened = open_store(small(root))
    for number in numbers:
        opened.append([draft(number, topic=TOPICS[number % 3])])
    opened.close()


def exported(store: Path, kind: str, **more: str) -> ExportResult:
    @contextlib.contextmanager
    def bar(total: int) -> Iterator[Bar]:
        yield Bar(total)

    session: Any = Session
    given = {"path": str(store), "columns": "*", "maxBytesPerPartition": "2k", "includeSystemTopics": "true", **more}
    wanted = ExportFormat(kind=kind, catalog="test", table="shop.messages")
    return export(session, read_options(given), str(store.parent / "to"), format=wanted, bar=bar)


def rows(store: Path, kind: str) -> list[dict[str, Any]]:
    if kind == "delta":
        found = deltalake.DeltaTable(str(store.parent / "to")).to_pyarrow_table()
    else:
        from pyiceberg.catalog import load_catalog

        found = load_catalog("test").load_table("shop.messages").scan().to_arrow()
    listed: list[dict[str, Any]] = found.to_pylist()
    return sorted(listed, key=lambda row: row["message_id"])


KINDS = pytest.mark.parametrize("kind", ["delta", "iceberg"])


@KINDS
def test_runs_add_to_the_table(store: Path, kind: str) -> None:
    assert exported(store, kind).messages == 60
    first = rows(store, kind)
    assert [row["message_id"] for row in first] == [f"U{number:07d}" for number in range(60)]
    assert [row["topic"] for row in first[:3]] == list(TOPICS)
    assert (first[0]["body"], first[0]["keys"], first[0]["tags"]) == (b"body-0", ["k0"], "Tag0")
    assert dict(first[0]["properties"])["UNIQ_KEY"] == "U0000000"
    assert exported(store, kind).messages == 0
    fill(store, range(60, 70))
    assert exported(store, kind).messages == 10
    assert len(rows(store, kind)) == 70


@KINDS
@pytest.mark.parametrize("at", ["before the files are moved", "before the table has them", "after it"])
def test_a_run_that_ends_anywhere_is_taken_up(store: Path, kind: str, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    table = DeltaTable if kind == "delta" else IcebergTable
    add, finish = table.add, ledger.ExportLedger._finish
    if at == "before the files are moved":
        monkeypatch.setattr(ledger.ExportLedger, "_finish", killed)
    elif at == "before the table has them":
        monkeypatch.setattr(table, "add", killed)
    else:
        monkeypatch.setattr(table, "add", lambda *arguments: killed(add(*arguments)))
    with pytest.raises(Killed):
        exported(store, kind)
    monkeypatch.setattr(ledger.ExportLedger, "_finish", finish)
    monkeypatch.setattr(table, "add", add)
    exported(store, kind)
    assert [row["message_id"] for row in rows(store, kind)] == [f"U{number:07d}" for number in range(60)]


def test_a_table_of_other_columns_is_refused(store: Path) -> None:
    exported(store, "iceberg", columns="body")
    with pytest.raises(ExportImpossible, match="has the columns body, topic, store_timestamp, not"):
        exported(store, "iceberg", columns="body,tags")


def test_a_folder_in_which_an_earlier_version_wrote_nothing_becomes_a_table(store: Path) -> None:
    exported(store, "delta", topic="Orders", startingTimestamp="2100-01-01T00:00:00Z")
    done = store.parent / "to" / "_rocketwire" / "done.json"
    found = json.loads(done.read_bytes())
    assert found["brokers"] == {}
    del found["id"], found["commits"]
    done.write_text(json.dumps(found))
    assert exported(store, "delta").messages == len(rows(store, "delta")) == 60


def test_a_folder_is_of_one_format(store: Path) -> None:
    exported(store, "delta")
    with pytest.raises(ExportImpossible, match="was exported with format 'delta', not None"):
        exported(store, "parquet")


def test_an_unknown_catalog(store: Path) -> None:
    with pytest.raises(ExportImpossible, match="the Iceberg catalog nowhere cannot be opened"):
        exporting._table(ExportFormat(kind="iceberg", catalog="nowhere", table="a.b"), store, ("topic",))


def test_an_iceberg_table_needs_a_name(store: Path) -> None:
    with pytest.raises(OptionInvalid, match="namespace"):
        exporting._table(ExportFormat(kind="iceberg", table="messages"), store, ("topic",))


@pytest.mark.parametrize(("kind", "module"), [("delta", "deltalake"), ("iceberg", "pyiceberg.catalog")])
def test_the_extra_is_named(store: Path, kind: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(PackageMissing, match=rf"rocketwire\[{kind}\]"):
        exported(store, kind)
