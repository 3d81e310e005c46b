"""The owner of a client id: the account that came first; without accounts, the place from which its stream was opened.

With access control a client id belongs to the account whose call was admitted first, until the client is closed. Other
accounts are refused, and the same account may use any number of connections.

Without accounts only its address distinguishes a client that reconnects from a stranger. So while a client's telemetry
stream is open, and the client gives signs of life from there, another address may neither open one under its id nor
speak for it. A client whose network changes is silent at its former address: it is let in after
`ALIVE_SECONDS`, and its streams at the former address end. Several connections from one address are one client's: SDKs
open one for each endpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.wire.grpc.codes import CallInvalid, Code

ALIVE_SECONDS: Final = 15.0
"""So long after its last call a client counts as alive at its address: SDKs send heartbeats every 10 s."""


class ClientIdTaken(CallInvalid):
    """A client id belongs to another account, or is in use at another address."""


class ClientIdOwner:
    """Whose a client id is, and where the client's telemetry stream was opened.

    Args:
        client_id: The id.
        account: The account that it belongs to; empty: none, or there is no access control.
    """

    __slots__ = ("_account", "_client_id", "_heard", "_place")

    def __init__(self, client_id: str, account: str) -> None:
        self._client_id = client_id
        self._account = account
        self._place: str | None = None  # None: the client has no open stream
        self._heard = 0.0  # when the last call came from there, in seconds of the event loop

    def stream_opened(self, place: str, now: float) -> None:
        """Note from where the newest stream was opened."""
        self._place, self._heard = place, now

    def streams_ended(self) -> None:
        """Note that no stream is open."""
        self._place = None

    def note_call(self, place: str, now: float) -> None:
        """Note a call from a place."""
        if place == self._place:
            self._heard = now

    def check_account(self, account: str) -> None:
        """Check that the id belongs to an account.

        Raises:
            ClientIdTaken: it belongs to another one.
        """
        if account != self._account:
            raise ClientIdTaken(Code.UNAUTHORIZED, f"client id {self._client_id} belongs to another account")

    def may_share(self, place: str, other: str) -> bool:
        """Whether the client may have streams at two places at a time."""
        return bool(self._account) or place == other

    def is_elsewhere(self, place: str, now: Callable[[], float]) -> bool:
        """Whether the id belongs to no account, and the client is alive at another place."""
        if self._place is None or self._account or self._place == place:
            return False  # of nearly all calls, without reading the clock
        return now() - self._heard <= ALIVE_SECONDS

    def check_place(self, place: str, now: Callable[[], float]) -> None:
        """Check that a call from a place may speak for the client.

        Raises:
            ClientIdTaken: the id belongs to no account, and the client is alive at another place.
        """
        if self.is_elsewhere(place, now):
            raise self.used_elsewhere()

    def used_elsewhere(self) -> ClientIdTaken:
        """The error for a caller that may not use the id because the client is at another place."""
        return ClientIdTaken(Code.FORBIDDEN, f"client id {self._client_id} is in use at another address")
