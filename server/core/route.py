"""Routes: families of request codes, each code with its handler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.works import Work
from rocketwire.wire.codes import RequestCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A request code, its header and response header types, and its handler.

    `handler(services, request)` returns the reply, a generator that carries the request out in steps, or None when a
    service answers later. `short` marks headers with the one-letter names of SEND_MESSAGE_V2. `heading` says in a few
    words what the request is for.
    """

    code: RequestCode
    header: type[Any] | None = None
    response: type[Any] | None = None
    handler: Callable[[Any, Request[Any]], Reply | Work | None]
    short: bool = False
    heading: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The routes of one subject, and the `services` that their handlers are given."""

    routes: Sequence[Route]
    services: Any
