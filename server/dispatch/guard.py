"""Access control in dispatch: a guard decides about every request before anything else is done with it.

`FrameDispatcher.serve` calls it once, before the code is looked up, as Apache does: a client without access does not
learn which codes are served. Fast paths and handlers see only admitted requests.
"""

from __future__ import annotations

from typing import Protocol

from rocketwire.server.core.request import CallSignature, Peer
from rocketwire.wire.header import Header


class RequestGuard(Protocol):
    """Admits or refuses requests."""

    @property
    def active(self) -> bool:
        """Whether it decides now; this may change at any time. While a guard is active the kernel serves nothing."""

    def admit(self, peer: Peer, header: Header, body: memoryview, proof: CallSignature | None = None) -> None:
        """Decide about one request.

        Args:
            peer: The connection of the request.
            header: Its header, with all fields; the code may be unknown.
            body: Its body. Valid during the call only.
            proof: The signature, if the header has no fields for it.

        Raises:
            ServerError: the request is refused; the error's response code and text are the answer.
            WireError: the request cannot be parsed; likewise.
        """


class CallAccounts(Protocol):
    """The accounts of gRPC calls: who makes a call, and which client ids it may use."""

    def identify(self, proof: CallSignature) -> None:
        """Refuse a call that no account has made, before its request is read.

        Raises:
            ServerError: none has made it.
        """

    def check_client_id(self, client_id: str, account: str, peer: Peer) -> None:
        """Refuse what an account does under a client id that belongs to another one.

        Raises:
            ServerError: it belongs to another account.
        """

    def reserve_client_id(self, client_id: str) -> None:
        """Let no account use a client id under which the server itself is a client of others."""

    def note_client_id(self, client_id: str, account: str, peer: Peer) -> bool:
        """Note that an account has done something under a client id, and has it from now on.

        Returns whether it has the id: not if that belongs to another account by now.
        """
