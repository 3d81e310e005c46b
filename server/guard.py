"""Where quotas and access control come in: a guard is asked about every request before it is carried out.

The general way and the short way of sends ask the same guards. A send that the short way leaves to the general one,
because a guard or a check refused it, is asked about a second time there: that is where the refusal gets its words.
"""

from __future__ import annotations

from typing import Protocol

from rocketwire.server.request import Peer
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.fast import SendFields
from rocketwire.wire.headers import WireHeader


class Guard(Protocol):
    """Lets requests pass, or refuses them."""

    def admit(self, peer: Peer, code: int, fields: WireHeader | SendFields | None, frame: RawFrame) -> None:
        """Decide about one request.

        Args:
            peer: The connection it came on.
            code: Its request code, one that is served.
            fields: Its decoded header; the fields of a send have the same names in both types. None: the code has none.
            frame: All of it, for what the fields leave out, such as a signature. Valid during the call only.

        Raises:
            ServerError: the request is refused; the error's response code and text are the answer.
        """
