"""Refuses requests that are larger than `wire.grpc.bounds` allows, before protobuf makes objects of them."""

from __future__ import annotations

from typing import Final, Protocol

from rocketwire import native
from rocketwire.server.core.guard_errors import CallTooLarge
from rocketwire.wire.errors import WireError
from rocketwire.wire.grpc.bounds import ENTRIES, REQUESTS
from rocketwire.wire.grpc.request_scan import FIELDS, MALFORMED, RequestScan, make_rules
from rocketwire.wire.http2.events import CALL, MESSAGE, Event

REFUSED_CALL: Final = -1
"""`(REFUSED, stream, path, headers, error)`: stands for a CALL whose message is not read, but dropped."""
CALL_BYTES: Final = "callBytes"
CALL_ENTRIES: Final = "callEntries"
"""The names of these limits."""


class RequestMalformed(WireError):
    """The bytes of a request are no message of protobuf."""


class _Scan(Protocol):
    def check(self, path: str, payload: bytes) -> int: ...

    def check_calls(self, events: list[Event]) -> list[tuple[int, int]] | None: ...


class RequestBounds:
    """The bounds of all methods."""

    def __init__(self) -> None:
        messages, calls, self._names = make_rules()
        scan = RequestScan if native.kernel is None else native.kernel.RequestScan
        self._scan: _Scan = scan(messages, dict(calls))

    def check(self, path: str, payload: bytes) -> None:
        """Check one message of a method's request.

        Raises:
            CallTooLarge: it has too many fields or entries.
            RequestMalformed: it cannot be read.
        """
        wrong = self._scan.check(path, payload)
        if wrong:
            raise self._error(path, wrong)

    def refuse_calls(self, events: list[Event]) -> None:
        """Replace the calls whose requests are refused by `REFUSED_CALL` ones."""
        for index, wrong in self._scan.check_calls(events) or ():
            _, stream, path, headers, _ = events[index]
            events[index] = (REFUSED_CALL, stream, path, headers, self._error(path, wrong))

    def _error(self, path: str, wrong: int) -> CallTooLarge | RequestMalformed:
        if wrong == MALFORMED:
            return RequestMalformed("its bytes are no message of protobuf")
        if wrong == FIELDS:
            return CallTooLarge(CALL_ENTRIES, REQUESTS[path].fields, "fields in the request")
        name = self._names[wrong]
        return CallTooLarge(CALL_ENTRIES, ENTRIES[name], f"entries in {'.'.join(name.split('.')[-2:])}")


def request_bytes(event: Event) -> int:
    """How many bytes of a request an event holds."""
    return len(event[-1]) if event[0] in _WITH_BYTES else 0


_WITH_BYTES: Final = frozenset({CALL, MESSAGE})
