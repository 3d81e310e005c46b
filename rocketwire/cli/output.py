"""The option `--json`, and printing JSON lines, sizes and warnings, for all subcommands."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import click

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")


_STEP: Final = 1024
_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def json_line(value: Any) -> None:  # noqa: ANN401 - any JSON value
    """Write one line of JSON in UTF-8 to stdout, whatever the terminal's encoding is."""
    import msgspec

    try:
        line = msgspec.json.encode(value)
    except UnicodeEncodeError:
        # The name of a file that is not UTF-8: JSON has escapes for it.
        line = json.dumps(msgspec.to_builtins(value)).encode()
    sys.stdout.buffer.write(line + b"\n")


def size(count: int) -> str:
    """A number of bytes in readable form."""
    if count < _STEP:
        return f"{count} bytes"
    value, unit = float(count), 0
    while value >= _STEP and unit + 1 < len(_UNITS):
        value /= _STEP
        unit += 1
    return f"{value:.1f} {_UNITS[unit]}"


def number(count: int) -> str:
    """A number with thousands separators."""
    return f"{count:,}"


def count_of(count: int, what: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number(count)} {what}" + ("" if count == 1 else "s")


def warn_empty(what: str) -> None:
    """Report on stderr that a list is empty: `found no topics`."""
    warn(f"found no {what}")


def warn(line: str) -> None:
    """Write a line to stderr, after flushing stdout."""
    sys.stdout.flush()
    print(f"rocketwire: {line}", file=sys.stderr)


class CountedWarnings:
    """Prints warnings on stderr, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, what: object) -> None:
        """Print a line."""
        self.count += 1
        warn(str(what))
