"""How much of unfinished requests a connection takes in. `kernel/http2/intake.c` is the same in C.

A client may send the beginning of any request. The rest of a long message it may send when the server lets it: when
those that were let in before, and this one, are no more than a window together. What is let in can always be finished,
so the requests of a connection never wait for each other.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

_MOST_HELD: Final = 4  # windows


class IncomingRequest:
    """What the intake notes of a request.

    Attributes:
        stream: Its stream.
        held: Bytes that have come and cannot be handed over yet.
        granted: Bytes that its client may send beyond the window of every stream.
        head: Bytes of its headers.
    """

    __slots__ = ("granted", "head", "held", "stream")

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.held = self.granted = self.head = 0


_Request = TypeVar("_Request", bound=IncomingRequest)


class Intake(Generic[_Request]):
    """Lets in what fits into `window` bytes; requests begin with a window of `stream_window` bytes.

    Attributes:
        held: Bytes that all requests hold.
    """

    __slots__ = ("_enough", "_granted", "_holding", "_waiting", "_window", "held")

    def __init__(self, window: int, stream_window: int) -> None:
        self._window = window
        self._enough = stream_window // 4  # a shorter message fits, whatever else of the window was used up
        self.held = self._granted = 0
        self._waiting: dict[_Request, int] = {}
        self._holding: dict[_Request, None] = {}

    def set_held(self, request: _Request, held: int) -> None:
        """Note how much a request holds now."""
        self.held += held - request.held
        request.held = held
        if held:
            self._holding[request] = None
        else:
            self._holding.pop(request, None)

    def request_room(self, request: _Request, size: int) -> None:
        """A message of that size has begun, its prefix included."""
        if size > self._enough and not request.granted and request not in self._waiting:
            self._waiting[request] = size - self._enough

    def admit_waiting(self) -> list[_Request]:
        """The requests that may send the whole message from now on, each once."""
        now = []
        while self._waiting:
            request, more = next(iter(self._waiting.items()))
            if self._granted and self._granted + more > self._window:
                break
            del self._waiting[request]
            request.granted = more
            self._granted += more
            now.append(request)
        return now

    def release_grant(self, request: _Request) -> None:
        """A message is whole: what was let in for it is free again."""
        self._granted -= request.granted
        request.granted = 0

    def forget(self, request: _Request) -> None:
        """A request is over."""
        self.release_grant(request)
        self.set_held(request, 0)
        self._waiting.pop(request, None)

    def request_to_refuse(self) -> _Request | None:
        """The request to refuse since all together hold too much: the last one."""
        return next(reversed(self._holding)) if self.held > _MOST_HELD * self._window else None
