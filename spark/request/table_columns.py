"""Options and columns of tables other than that of messages: `table` = `queues` and `counts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql.types import DataType, StructField, StructType

from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.request.option_parsing import NAMES
from rocketwire.spark.request.values import nearest, text_of, words


def schema_of(
    table: str, columns: Mapping[str, DataType], default: Sequence[str], options: Mapping[str, str]
) -> StructType:
    """The columns that the option `columns` names, in its order, else the default ones; all may be null.

    Raises:
        OptionInvalid: there is no such column.
    """
    text = text_of(options, "columns")
    names = default if text is None else _named(table, columns, text)
    return StructType([StructField(name, columns[name]) for name in names])


def check_table(
    table: str,
    columns: Mapping[str, DataType],
    taken: Iterable[str],
    options: Mapping[str, str],
    schema: StructType,
) -> None:
    """Refuse options that do not apply to a table, and schemas that do not fit its columns.

    Args:
        table: Its name.
        columns: All its columns.
        taken: The options that apply to it.
        options: Those that are given.
        schema: That of the read: `schema_of`, or the user's.

    Raises:
        OptionInvalid: there is such an option or column.
    """
    given = {name.lower() for name in options}
    for name in sorted({*NAMES} - {*taken}):
        if name.lower() in given:
            raise OptionInvalid(f"option {name} is for messages, and not for the table {table}", "Leave it out")
    for column in schema.fields:
        if columns.get(column.name) != column.dataType or not column.nullable:
            kind = column.dataType.simpleString() + ("" if column.nullable else " NOT NULL")
            what = f"the table {table} has no column {column.name} of type {kind}"
            raise OptionInvalid(what, "Use the option columns instead of schema()")
        if schema.names.count(column.name) > 1:
            raise OptionInvalid(f"schema() names the column {column.name} twice", "Name each column once")


def without(options: Mapping[str, str], *own: str) -> dict[str, str]:
    """The options but a table's own: those that messages do not have, and `columns`, whose names are others."""
    names = {name.lower() for name in own}
    return {name: text for name, text in options.items() if name.lower() not in names}


def _named(table: str, columns: Mapping[str, DataType], text: str) -> tuple[str, ...]:
    known = {name.lower(): name for name in columns}
    names: list[str] = []
    for word in words("columns", text):
        if word != "*" and word.lower() not in known:
            hint = nearest(word, list(columns)) or f"The columns are {', '.join(columns)}"
            raise OptionInvalid(f"there is no column {word} in the table {table} (option columns)", hint.strip())
        names += columns if word == "*" else [known[word.lower()]]
    return tuple(dict.fromkeys(names))
