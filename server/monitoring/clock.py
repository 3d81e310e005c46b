"""The HTTP resource `/clock`: returns the server's time, and moves it ahead.

Bodies are JSON: `{"advance":MS}` is answered like a GET with `{"now":MS,"advanced":MS}`, the time in ms since 1970 and
how far it is ahead of the real one.
"""

from __future__ import annotations

import msgspec

from rocketwire.server.core.clocks.movable_clock import MovableClock, NotMovable
from rocketwire.server.http.messages import HttpRequest, HttpResponse, Routes, json_response, text_response


class _Advance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a POST."""

    advance: int


def clock_routes(clock: MovableClock | None) -> Routes:
    """The routes of `/clock`; None: the clock cannot be moved, and every request gets 403."""
    handlers = _Refusing() if clock is None else _Serving(clock)
    return {("GET", "/clock"): handlers.show, ("POST", "/clock"): handlers.advance}


class _Refusing:
    async def show(self, _request: HttpRequest) -> HttpResponse:
        return text_response(
            "the clock cannot be moved here: start the server with --set movableClock=true", status=403
        )

    advance = show


class _Serving:
    def __init__(self, clock: MovableClock) -> None:
        self._clock = clock

    async def show(self, _request: HttpRequest) -> HttpResponse:
        return json_response({"now": self._clock(), "advanced": self._clock.advanced})

    async def advance(self, request: HttpRequest) -> HttpResponse:
        try:
            moved = msgspec.json.decode(request.body, type=_Advance)
            self._clock.advance(moved.advance)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return text_response(f'{error}: expected {{"advance": MS}}', status=400)
        except NotMovable as error:
            return text_response(f"advance={moved.advance}: {error}", status=400)
        return await self.show(request)
