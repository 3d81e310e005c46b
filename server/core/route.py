"""What is served: families of request codes, each code with the function that serves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.works import Work
from rocketwire.wire.codes import RequestCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A request code, its header and response header types, and the function that serves it.

    `handler(services, request)` returns the reply, what carries the request out in steps, or None when a service has
    taken the request over and answers later. `short` marks headers with the one-letter names of SEND_MESSAGE_V2.
    `heading` says in a few words what the request is for.
    """

    code: RequestCode
    header: type[Any] | None = None
    response: type[Any] | None = None
    handler: Callable[[Any, Request[Any]], Reply | Work | None]
    short: bool = False
    heading: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Routes of one subject, and what their handlers are given as `services`."""

    routes: Sequence[Route]
    services: Any
