"""Routes: families of request codes, each code with its handler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from rocketwire.server.core.append import Append
from rocketwire.server.core.long_tasks import ReplyOperation
from rocketwire.server.core.request import Reply, Request
from rocketwire.wire.facts.codes import RequestCode

ServicesT = TypeVar("ServicesT")

HandlerResult: TypeAlias = Reply | Append | ReplyOperation | None
"""What a handler returns: the answer, what is to be appended, a generator that carries the request out in steps, or
None when a service answers later."""
HandlerT = TypeVar("HandlerT", bound=Callable[[Any, Request[Any]], HandlerResult])


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A request code and its handler.

    Attributes:
        code: The request code.
        header: The type of the request's header; None: it has no fields.
        response: The type of the response's header; None: it has no fields.
        handler: Called with the family's services and the request.
        short: Whether the header's fields have the one-letter names of SEND_MESSAGE_V2.
        appends: Whether the handler returns an `Append`. It then decides without what other requests of the same read
            append (but see `Append.conflict_keys`).
        by_call: Whether it is served for gRPC calls only, not for frames.
        heading: What the request is for, in a few words.
    """

    code: RequestCode
    header: type[Any] | None = None
    response: type[Any] | None = None
    handler: Callable[[Any, Request[Any]], HandlerResult]
    short: bool = False
    appends: bool = False
    grpc_only: bool = False
    summary: str


class RequestRoutes(Generic[ServicesT]):
    """The request codes of one subject, which `route` enters beside their handlers.

    Called with the services of a server, it gives what this one serves.

    Attributes:
        name: The subject.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._routes: list[Route] = []

    @property
    def routes(self) -> tuple[Route, ...]:
        """Its request codes, each with its handler."""
        return tuple(self._routes)

    def route(
        self,
        code: RequestCode,
        *,
        header: type[Any] | None = None,
        response: type[Any] | None = None,
        short: bool = False,
        appends: bool = False,
        grpc_only: bool = False,
        summary: str,
    ) -> Callable[[HandlerT], HandlerT]:
        """Serve a request code with the decorated handler; see `Route`."""

        def enter(handler: HandlerT) -> HandlerT:
            self._routes.append(
                Route(
                    code=code,
                    header=header,
                    response=response,
                    handler=handler,
                    short=short,
                    appends=appends,
                    grpc_only=grpc_only,
                    summary=summary,
                )
            )
            return handler

        return enter

    def __call__(self, services: ServicesT) -> Family:
        """The routes, with the services that their handlers are given."""
        return Family(routes=self.routes, services=services)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The routes of one subject, and the `services` that their handlers are given."""

    routes: Sequence[Route]
    services: Any
