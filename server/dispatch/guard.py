"""Where access control comes in: a guard is asked about every request before anything else is done with it.

It is asked once, in `FrameDispatcher.serve`, before the request's code is looked up: as Apache does it, so that who may
not come in does not learn what is served. The short ways and the general one see only what was admitted.
"""

from __future__ import annotations

from typing import Protocol

from rocketwire.server.core.request import Peer
from rocketwire.wire.header import Header


class Guard(Protocol):
    """Lets requests pass, or refuses them."""

    @property
    def active(self) -> bool:
        """Whether it is asked now; this may change at any time. While a guard is active the kernel serves nothing."""

    def admit(self, peer: Peer, header: Header, body: memoryview) -> None:
        """Decide about one request.

        Args:
            peer: The connection it came on.
            header: Its header, with all fields; the code may be one that nobody serves.
            body: Its body. Valid during the call only.

        Raises:
            ServerError: the request is refused; the error's response code and text are the answer.
            WireError: it cannot be read; the same.
        """
