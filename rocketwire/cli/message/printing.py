"""Printing messages: one line each for people, a JSON object each, or bodies alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rocketwire.cli.output import json_line
from rocketwire.cli.shown_message import body_of, json_object
from rocketwire.cli.table import clean, cut, displayed, output_width
from rocketwire.cli.times import shown

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import BrokerMessage
    from rocketwire.store.offline.read.scan import ReportProblem

Print = Callable[["BrokerMessage"], None]
_NONE: Final = "-"
_PLACE_WIDTH: Final = 8
_TAG_WIDTH: Final = 8
_KEYS_WIDTH: Final = 12
_BYTES_SHOWN: Final = 32
_WIDE: Final = 120
"""On a narrower terminal a time has no year and no milliseconds, so that more of the body is seen."""
_WITHOUT_YEAR: Final = len("2026-")
_WITHOUT_MS: Final = len("2026-01-31 09:30:00")
#: A line on a terminal shows no more of a body; so no more of it is decoded.
_BODY_SHOWN: Final = 1000


def printer(*, as_json: bool, bodies: bool, report: ReportProblem) -> Print:
    """The function that prints a message in the requested form."""
    if as_json:
        return lambda found: json_line(json_object(found.one, report, broker=found.broker))
    if bodies:
        return lambda found: _print_body(found, report)
    return MessagePrinter(report).print


class MessagePrinter:
    """One line a message: time, queue and offset, tag, keys and the start of the body."""

    def __init__(self, report: ReportProblem) -> None:
        self._report = report
        self._broker: str | None = None
        self._several = False
        self._is_terminal = sys.stdout.isatty()

    def print(self, found: BrokerMessage) -> None:
        """Print one; brokers are named once there are several."""
        if self._broker not in (None, found.broker):
            self._several = True
        self._broker = found.broker
        print(self.line(found, output_width() if self._is_terminal else None))

    def line(self, found: BrokerMessage, width: int | None) -> str:
        """The line, cut to a width unless that is None."""
        one = found.one
        place = f"{one.message.queue_id}/{one.message.queue_offset}"
        time = shown(one.message.store_timestamp)
        cells = (
            time if width is None or width >= _WIDE else time[_WITHOUT_YEAR:_WITHOUT_MS],
            _padded(f"{found.broker}:{place}" if self._several else place, _PLACE_WIDTH),
            _padded(clean(one.tags or _NONE), _TAG_WIDTH),
            _padded(clean(",".join(one.keys) or _NONE), _KEYS_WIDTH),
            self._body(found, None if width is None else _BODY_SHOWN),
        )
        line = "  ".join(cells).rstrip()
        return line if width is None else cut(line, width)

    def _body(self, found: BrokerMessage, most: int | None) -> str:
        body = body_of(found.one, self._report)
        data = found.one.message.body if body is None else body
        try:
            return clean(bytes(data).decode()[:most])
        except UnicodeDecodeError:
            more = "…" if len(data) > _BYTES_SHOWN else ""
            return f"({len(data)} bytes: {bytes(data[:_BYTES_SHOWN]).hex()}{more})"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - displayed(text))


def _print_body(found: BrokerMessage, report: ReportProblem) -> None:
    body = body_of(found.one, report)
    sys.stdout.buffer.write((found.one.message.body if body is None else body) + b"\n")
