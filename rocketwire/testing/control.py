"""The requests to an endpoint over HTTP: fault rules, and its clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPConnection, HTTPException
from typing import Any, Final, Generic, TypeVar

import msgspec

from rocketwire.remoting.errors import NotReached
from rocketwire.testing.errors import ControlRefused

T = TypeVar("T")
SECONDS: Final = 30.0
"""How long a response may take."""
_SUCCESS: Final = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault rule in force.

    Attributes:
        id: Its number.
        rule: Its text.
        struck: How many requests it has hit.
        spent: Whether its `count` is used up.
    """

    id: int
    rule: str
    struck: int
    spent: bool


Rules = list[Fault]
"""Rules in force."""


@dataclass(frozen=True, slots=True)
class ControlCall(Generic[T]):
    """A request, and how its response is read."""

    method: str
    target: str
    read: Callable[[bytes], T]
    body: bytes = b""

    def run(self, address: str) -> T:
        """Send it to `HOST:PORT`, and return the content of the response.

        Raises:
            ControlRefused: it is a refusal.
            NotReached: there is no response.
        """
        host, _, port = address.rpartition(":")
        connection = HTTPConnection(host, int(port), timeout=SECONDS)
        try:
            connection.request(self.method, self.target, self.body, {"Accept": "application/json"})
            response = connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            raise NotReached(f"HTTP server {address}", str(error) or type(error).__name__) from error
        finally:
            connection.close()
        if response.status not in _SUCCESS:
            raise ControlRefused(body.decode(errors="replace").strip())
        return self.read(body)


def add_faults(*rules: str) -> ControlCall[Rules]:
    """Put rules in force, or none if one is wrong.

    Raises:
        ControlRefused: one is wrong.
    """
    return ControlCall("POST", "/faults", _faults, "\n".join(rules).encode())


def list_faults() -> ControlCall[Rules]:
    """The rules in force, with how many requests each has matched."""
    return ControlCall("GET", "/faults", _faults)


def remove_fault(fault: Fault | int) -> ControlCall[None]:
    """Remove a rule.

    Raises:
        ControlRefused: it is not in force.
    """
    number = fault.id if isinstance(fault, Fault) else fault
    return ControlCall("DELETE", f"/faults?id={number}", _nothing)


def clear_faults() -> ControlCall[None]:
    """Remove all rules."""
    return ControlCall("DELETE", "/faults", _nothing)


def advance(
    by: timedelta | None = None,
    /,
    *,
    days: float = 0,
    hours: float = 0,
    minutes: float = 0,
    seconds: float = 0,
) -> ControlCall[int]:
    """Set the clock ahead: what is due then is delivered at once. Returns the new time, in ms since 1970.

    Raises:
        ControlRefused: it would go back, or more than ten years ahead.
    """
    step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds) + (by or timedelta())
    body = msgspec.json.encode({"advance": step // timedelta(milliseconds=1)})
    return ControlCall("POST", "/clock", _now, body)


def now() -> ControlCall[int]:
    """The endpoint's time, in ms since 1970."""
    return ControlCall("GET", "/clock", _now)


def _faults(body: bytes) -> list[Fault]:
    content: dict[str, list[dict[str, Any]]] = msgspec.json.decode(body)
    return [Fault(**each) for each in content["faults"]]


def _now(body: bytes) -> int:
    content: dict[str, int] = msgspec.json.decode(body)
    return content["now"]


def _nothing(_: bytes) -> None:
    pass
