"""Who may use a client id: the account that came first; without accounts, the place from which its stream was opened.

With access control a client id belongs to the account whose call was admitted first, until the client is gone. Other
accounts are refused, and the same account may use any number of connections.

Without accounts nobody can tell a client that comes back from a stranger by anything but its address. So while a
client's telemetry stream is open, and the client gives signs of life from there, another address may neither open one
under its id nor speak for it. A client whose network changes is silent at its former address: it is let in after
`ALIVE_SECONDS`. Several connections from one address are one client's: SDKs open one for each endpoint.
"""

from __future__ import annotations

from typing import Final

from rocketwire.wire.grpc.codes import CallInvalid, Code

ALIVE_SECONDS: Final = 15.0
"""So long after its last call a client counts as alive at its address: SDKs send heartbeats every 10 s."""


class ClientIdTaken(CallInvalid):
    """A client id belongs to another account, or is in use at another address."""

    @classmethod
    def by_other_account(cls, client_id: str) -> ClientIdTaken:
        """It belongs to another account."""
        return cls(Code.UNAUTHORIZED, f"client id {client_id} belongs to another account")

    @classmethod
    def at_other_address(cls, client_id: str) -> ClientIdTaken:
        """It is in use at another address."""
        return cls(Code.FORBIDDEN, f"client id {client_id} is in use at another address")


class StreamAddress:
    """Where a client's telemetry stream was opened, and when the client was last heard of there.

    Attributes:
        place: The place, as connections tell it; None: the client has no open stream.
        heard: When its last call came from there, in seconds of the event loop.
    """

    __slots__ = ("heard", "place")

    def __init__(self) -> None:
        self.place: str | None = None
        self.heard = 0.0

    def note_call(self, place: str, now: float) -> None:
        """Note a call from a place."""
        if place == self.place:
            self.heard = now

    def is_alive_elsewhere(self, place: str, now: float) -> bool:
        """Whether the client is alive at another place than this."""
        return self.place is not None and self.place != place and now - self.heard <= ALIVE_SECONDS
