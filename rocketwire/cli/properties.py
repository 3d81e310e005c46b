"""Configurations as keys and values: printing them, and changing keys with a check of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from rocketwire.cli.errors import CommandError, CommandFailed

Values = Mapping[str, str]
_OPTIONS: Final = (
    click.option("--get", "keys", metavar="KEY", multiple=True, help="Only print this key; repeatable."),
    click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help="Change this key first; repeatable."),
)


def property_options(function: Any) -> Any:  # noqa: ANN401 - of click's decorators
    """Add `--get` and `--set` to a command, which gets them as `keys` and `changes`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def parsed_changes(texts: Sequence[str], option: str = "--set") -> dict[str, str]:
    """The keys and values of `--set`, or of another option.

    Raises:
        Mistake: one is not KEY=VALUE.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise CommandError(f"{option} {text}: expected KEY=VALUE")
        found[key.strip()] = value
    return found


def chosen(
    read: Callable[[], str], change: Callable[[str], None], *, keys: Sequence[str], changes: Mapping[str, str]
) -> dict[str, str]:
    """The values of one server after the changes: of `keys` and what was changed, or all if neither is named.

    Raises:
        Unsuccessful: it has no such key, or has not taken a value: Apache's servers ignore unknown keys.
    """
    from rocketwire.server.config.java_properties import format_java_properties, parse_java_properties

    values = parse_java_properties(read())
    for key in (*keys, *changes):
        _check(key, values)
    if changes:
        change(format_java_properties(changes))
        values = parse_java_properties(read())
        kept = [key for key, value in changes.items() if values.get(key) != value.strip()]
        if kept:
            unchanged = ", ".join(f"{key}={values.get(key, '')}" for key in kept)
            raise CommandFailed(f"it has not taken the change: {unchanged}")
    wanted = (*keys, *changes)
    return {key: values[key] for key in sorted(values) if not wanted or key in wanted}


def _check(key: str, values: Values) -> None:
    if key not in values:
        from rocketwire.server.config.nearest import suggestion

        raise CommandFailed(f"it has no key {key}{suggestion(key, values)}")


def write(server: str, found: Sequence[tuple[Mapping[str, str], Values]], *, as_json: bool) -> None:
    """Print the values of servers; the mapping before them has the server, under the name `server`."""
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table

    rows = [(which, key, value) for which, values in found for key, value in values.items()]
    if as_json:
        for which, key, value in rows:
            json_line({**which, "key": key, "value": value})
    elif rows:
        title = server.replace("_", " ").upper()
        columns = (TableColumn(title, least=10), TableColumn("KEY", least=20), TableColumn("VALUE", least=20))
        print_table(columns, [(which[server], key, value) for which, key, value in rows])
