"""An Iceberg table in a catalog: pyiceberg adds the files of an export to it, where they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocketwire.spark.errors import ExportImpossible, PackageMissing
from rocketwire.spark.export.ledger import TableCommit
from rocketwire.spark.schema import arrow_schema

if TYPE_CHECKING:
    from pyiceberg.table import Table

#: Files of an Iceberg table have these columns, whose values are its partitions.
NEEDED: Final = ("topic", "store_timestamp")
#: The property of a snapshot that names the commit.
_COMMIT: Final = "rocketwire-commit"


class IcebergTable:
    """A table, made if it is missing, partitioned by topic and day of storing."""

    def __init__(self, folder: Path, columns: Sequence[str], catalog: str, name: str) -> None:
        """Open or make it.

        Args:
            folder: The export's.
            columns: What the files have, NEEDED among them.
            catalog: A catalog by its name in pyiceberg's configuration.
            name: Of the table, with its namespace.

        Raises:
            PackageMissing: pyiceberg is not installed.
            ExportImpossible: the catalog does not answer, or has another table of that name.
        """
        try:
            from pyiceberg.catalog import load_catalog
        except ImportError as error:
            raise PackageMissing("pyiceberg is not installed", "pip install 'rocketwire[iceberg]'") from error
        self._folder = folder
        self._what = f"the table {name} of the Iceberg catalog {catalog}"
        try:
            self._table = _opened(load_catalog(catalog), name, columns)
        except Exception as error:  # each kind of catalog has other errors
            raise ExportImpossible(
                f"{self._what} cannot be opened: {error}", "Check pyiceberg's configuration"
            ) from error
        self._check(columns)

    def _check(self, columns: Sequence[str]) -> None:
        found = [field.name for field in self._table.schema().fields]
        if sorted(found) != sorted(columns):
            what = f"{self._what} has the columns {', '.join(found)}, not {', '.join(columns)}"
            raise ExportImpossible(what, "Export with the same columns, or to another table")

    def add(self, commit: TableCommit) -> None:
        """See Table: a snapshot names its commit."""
        name = f"{commit.export}-{commit.number}"
        try:
            self._table.refresh()
            if any(_named(snapshot) == name for snapshot in self._table.snapshots()):
                return
            self._table.add_files(
                # No escapes: Iceberg's readers take paths as they are.
                [f"file://{self._folder / place}" for place in commit.files],
                snapshot_properties={_COMMIT: name},
                check_duplicate_files=False,
            )
        except Exception as error:
            raise ExportImpossible(
                f"{self._what} does not take files: {error}", "Export again: it goes on there"
            ) from error


def _named(snapshot: Any) -> str | None:  # noqa: ANN401 - pyiceberg is optional
    found: str | None = None if snapshot.summary is None else snapshot.summary.additional_properties.get(_COMMIT)
    return found


def _opened(catalog: Any, name: str, columns: Sequence[str]) -> Table:  # noqa: ANN401 - as above
    from pyiceberg.exceptions import NoSuchTableError
    from pyiceberg.transforms import DayTransform, IdentityTransform

    try:
        found: Table = catalog.load_table(name)
    except NoSuchTableError:
        catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
        topic, time = NEEDED
        making = catalog.create_table_transaction(name, schema=arrow_schema(columns))
        with making, making.update_spec() as spec:
            spec.add_field(topic, IdentityTransform(), f"{topic}_name")
            spec.add_field(time, DayTransform(), "day")
        found = catalog.load_table(name)
    return found
