"""The log on stderr: lines for people, or one JSON object per line for programs.

All modules log with the standard library's `logging`: a constant text with names, and a dictionary of their values, as
`log.info("topic %(topic)s: %(queues)d queues", {"topic": name, "queues": 4})`. People get the text with the values in
it. In the JSON format the event is the constant text, `topic {topic}: {queues} queues`, and each value is a field. What
a call gives in `extra` becomes a field too; an `event` there replaces the text.

structlog renders the JSON; it is imported only for that, since the import takes as long as the rest of a start.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TypeAlias

log = logging.getLogger(__name__)

CONSOLE: Final = "console"
JSON: Final = "json"
FORMATS: Final = (CONSOLE, JSON)
LEVELS: Final = ("debug", "info", "warning", "error")

_LINE: Final = "%(asctime)s %(levelname)s %(message)s"
_LINE_OF_A_BROKER: Final = "%(asctime)s %(levelname)s {}: %(message)s"
#: Control characters, line and paragraph separators, bidirectional controls, and surrogates: what could end a line,
#: move a terminal's cursor or reorder text.
_UNPRINTED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: The place of a named value in a text: `%(offset)d`.
_PLACEHOLDER: Final = re.compile(r"%\((\w+)\)[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
_LONGEST: Final = 4096
"""The most characters of a line, or of one of its fields: clients choose names of up to a megabyte."""
_LONGEST_TRACE: Final = 64 * 1024
_FIRST: Final = ("time", "level", "event", "logger")


def start_logging(form: str, level: str, broker: str | None = None) -> None:
    """Log to stderr from now on, in one of `FORMATS`, records of one of `LEVELS` or above.

    With the name of a broker each line has it: several write to the same stderr.

    The JSON format also logs uncaught exceptions and Python's warnings.
    """
    handler = logging.StreamHandler(sys.stderr)
    line = _LINE if broker is None else _LINE_OF_A_BROKER.format(broker)
    handler.setFormatter(_json(broker) if form == JSON else _Console(line))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if form == JSON:
        logging.captureWarnings(capture=True)
        sys.excepthook = _uncaught
        sys.unraisablehook = _unraisable
        threading.excepthook = _ended_thread


_Caught: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Console(logging.Formatter):
    """One line per record, then its traceback, indented: clients choose parts of both and must not forge records."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library names it
        """Format the line, with unprintable characters escaped."""
        return _UNPRINTED.sub(_escaped, _cut(super().formatMessage(record)))

    def formatException(self, ei: _Caught) -> str:  # noqa: N802 - the library names it
        """Format the traceback, escaped likewise; its line breaks stay."""
        lines = _cut(super().formatException(ei), _LONGEST_TRACE).split("\n")
        return "\n".join("  " + _UNPRINTED.sub(_escaped, line) for line in lines)


def _cut(text: str, longest: int = _LONGEST) -> str:
    """The beginning of the text, and how many characters were cut."""
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest} more characters)"


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def log_startup_error(
    form: str, line: str, *, event: str = "the server cannot run", level: int = logging.ERROR
) -> None:
    """Report a problem to the person who started the program, in one line; `event` is that of the JSON format."""
    if form == JSON:
        log.log(level, "%(reason)s", {"reason": line}, extra={"event": event})
    else:
        warning = "warning: " if level == logging.WARNING else ""
        sys.stderr.write(f"rocketwire: {warning}{line}\n")


def _json(broker: str | None = None) -> logging.Formatter:
    from structlog import processors, stdlib  # noqa: PLC0415 - 0.1 s and 6 MB, for those only who want JSON

    def with_broker(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return event if broker is None else {**event, "broker": broker}

    return stdlib.ProcessorFormatter(
        foreign_pre_chain=[_with_fields, stdlib.add_log_level, stdlib.add_logger_name, stdlib.ExtraAdder()],
        use_get_message=False,
        pass_foreign_args=True,
        processors=[
            _with_time,
            stdlib.ProcessorFormatter.remove_processors_meta,
            with_broker,
            processors.format_exc_info,
            _with_short_texts,
            processors.JSONRenderer(),
        ],
    )


def _with_fields(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The values of a record as fields, and its text with their names; those of a library go into the text."""
    values = event.pop("positional_args", ())
    if isinstance(values, Mapping):
        event["event"] = _PLACEHOLDER.sub(r"{\1}", event["event"]).replace("%%", "%")
        return {**event, **{name: _plain(value) for name, value in values.items()}}
    if values:
        event["event"] %= values
    return event


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _with_time(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the record's time, and put the fields that every line has first."""
    made = datetime.fromtimestamp(event["_record"].created, UTC)
    event["time"] = made.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {name: event.pop(name) for name in _FIRST} | dict(event)


def _with_short_texts(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {
        name: _cut(value, _LONGEST_TRACE if name == "exception" else _LONGEST) if isinstance(value, str) else value
        for name, value in event.items()
    }


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.critical("uncaught exception", exc_info=(kind, error, trace))


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    kind, error, trace = what.exc_type, what.exc_value, what.exc_traceback
    text = what.err_msg or "exception ignored"
    log.error(
        "%(what)s" if what.object is None else "%(what)s in %(object)r",  # from Python 3.14 on the text may name it
        {"what": text, "object": what.object},
        exc_info=(kind, error, trace) if error is not None else None,
    )


def _ended_thread(what: threading.ExceptHookArgs) -> None:
    name = None if what.thread is None else what.thread.name
    error = what.exc_value
    trace = what.exc_traceback
    log.error(
        "thread %(thread)s ended",
        {"thread": name},
        exc_info=(what.exc_type, error, trace) if error is not None else None,
    )
