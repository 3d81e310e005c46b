"""Kinds of tables that streams are written into: what Spark needs for each, and how its rows are read without Spark.

Their jars come from Maven's repository, and need another Spark: they follow it by some months.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deltalake import DeltaTable
from pyiceberg.table import StaticTable

from rocketwire.spark.importing import DELTA_SETTINGS

_CATALOG: Final = "spark.sql.catalog.local"
_ICEBERG: Final = "org.apache.iceberg.spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of table.

    Attributes:
        format: Spark's name of it.
        spark: The version of Spark that its jar runs with.
        settings: Those of a session that writes into a table in a folder.
        by_jar: Whether the jar reads, and not the Python source.
        into: The table's name in its catalog; without one it is the folder `sink`.
        bodies: The column `body` of the table in a folder.
    """

    format: str
    spark: str
    settings: Callable[[Path], Mapping[str, str]]
    by_jar: bool
    into: str | None = None
    bodies: Callable[[Path], list[bytes]]


def _delta_settings(_: Path) -> Mapping[str, str]:
    return {
        "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
        "spark.databricks.delta.snapshotPartitions": "1",  # of 50 tasks each, for tables of any size
        **DELTA_SETTINGS,
    }


def _delta_bodies(folder: Path) -> list[bytes]:
    found: list[bytes] = DeltaTable(str(folder / "sink")).to_pyarrow_table().column("body").to_pylist()
    return found


def _iceberg_settings(folder: Path) -> Mapping[str, str]:
    """A catalog that is a folder, too."""
    return {
        "spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
        "spark.sql.extensions": f"{_ICEBERG}.extensions.IcebergSparkSessionExtensions",
        _CATALOG: f"{_ICEBERG}.SparkCatalog",
        f"{_CATALOG}.type": "hadoop",
        f"{_CATALOG}.warehouse": str(folder / "sink"),
    }


def _iceberg_bodies(folder: Path) -> list[bytes]:
    metadata = folder / "sink" / "db" / "messages" / "metadata"
    newest = (metadata / "version-hint.text").read_text().strip()
    table = StaticTable.from_metadata(str(metadata / f"v{newest}.metadata.json"))
    found: list[bytes] = table.scan(selected_fields=("body",)).to_arrow().column("body").to_pylist()
    return found


DELTA: Final = Kind(format="delta", spark="4.2.0", settings=_delta_settings, by_jar=False, bodies=_delta_bodies)
ICEBERG: Final = Kind(
    format="iceberg",
    spark="4.0.5",
    settings=_iceberg_settings,
    by_jar=True,
    into="local.db.messages",
    bodies=_iceberg_bodies,
)
