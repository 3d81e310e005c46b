"""What the runners of both clients in Python share. That of 5.x has a copy, so it imports nothing of rocketwire."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar
from urllib.parse import parse_qs

_SHORT: Final = 4096  # bytes of a body that is shown
_PRINTING: Final = threading.Lock()
AnyArguments = TypeVar("AnyArguments", bound="Arguments")


class RequestLacks(Exception):
    """A request lacks an argument that its program needs."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """One line: `Name?key=value&key=value`, form-encoded; a key may come several times."""

    name: str
    values: Mapping[str, Sequence[str]]

    @classmethod
    def parse(cls, line: str) -> Self:
        """The request of a line."""
        name, _, query = line.strip().partition("?")
        return cls(name, parse_qs(query, keep_blank_values=True))

    def all(self, key: str) -> Sequence[str]:
        """All values of a key."""
        return self.values.get(key, ())

    def text(self, key: str, otherwise: str | None = None) -> str:
        """The value of a key. Raises RequestLacks."""
        found = self.values.get(key) or ([otherwise] if otherwise is not None else [])
        if not found:
            raise RequestLacks(key)
        return found[0]

    def number(self, key: str, otherwise: int | None = None) -> int:
        """The value of a key as a number. Raises RequestLacks."""
        return int(self.text(key, None if otherwise is None else str(otherwise)))

    def message_fields(self) -> list[dict[str, str]]:
        """The fields of each message to send."""
        found = (parse_qs(query, keep_blank_values=True) for query in self.all("message"))
        return [{key: values[0] for key, values in fields.items()} for fields in found]


def body_of(fields: Mapping[str, str]) -> bytes:
    """The body that a message's fields describe: text that may be repeated, or noise that does not compress."""
    if "size" not in fields:
        return fields.get("body", "").encode() * int(fields.get("repeat", "1"))
    size = int(fields["size"])
    parts = (hashlib.sha256(f"{fields['seed']}:{i}".encode()).digest() for i in range(-(-size // 32)))
    return b"".join(parts)[:size]


def due_of(due: str) -> int:
    """The time (ms since 1970) that `+MS` from now, or a time, means."""
    return time.time_ns() // 1_000_000 + int(due) if due.startswith("+") else int(due)


def event(name: str, **fields: object) -> None:
    """Print an event as a JSON line; threads may do so at once."""
    line = json.dumps({"event": name, **fields}, ensure_ascii=True)
    with _PRINTING:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def body_fields(body: bytes) -> dict[str, Any]:
    """The fields of an event that describe the body of a message received now."""
    return {
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "text": body.decode("utf-8", "replace") if len(body) <= _SHORT else None,
        "at": time.time_ns() // 1_000_000,
    }


def serve(
    programs: Mapping[str, Callable[[AnyArguments], None]],
    request: type[AnyArguments],
    failure: Callable[[str, Exception], None],
) -> None:
    """Run the program that each line of standard input names, until the input ends."""
    event("ready", python=platform.python_version())
    for line in sys.stdin:
        arguments = request.parse(line)
        try:
            programs[arguments.name](arguments)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is this program's
            failure("crashed", problem)
        event("done")
