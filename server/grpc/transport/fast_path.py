"""The plain calls of a read are served first, and together: see `FastPath`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.wire.http2.events import CALL, Event

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import GrpcConnection
    from rocketwire.server.grpc.transport.context import FastPath

_SECONDS: Final = 0.002
"""How long plain calls are served before the others."""


def serve_on_fast_path(
    events: list[Event], connection: GrpcConnection, plain_of: Mapping[str, FastPath]
) -> list[Event]:
    """Serve the plain calls of a read, for some ms, as long as the client reads; return the other events."""
    until = trio.current_time() + _SECONDS
    others: list[Event] = []
    tried = ""  # the method whose next call is not plain
    at = 0
    while at < len(events) and not connection.congested:
        event = events[at]
        plain = None if event[0] != CALL or event[2] == tried else plain_of.get(event[2])
        served = 0 if plain is None or (others and not plain.overtakes) else plain.serve(events[at:], connection)
        if plain is not None and served:
            at += served
            tried = event[2] if served < plain.most else ""
        else:
            others.append(event)
            at += 1
            tried = ""
        if at < len(events) and trio.current_time() > until:
            break
    return others + events[at:]
