"""Fast paths for several request codes, each with its own groups of requests.

Most frames that come here are for none of them (pulls, offsets), so that has to be seen quickly: from the first bytes
of a JSON header, where the official clients write the code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from rocketwire.server.core.errors import response_code
from rocketwire.server.core.request import Reply
from rocketwire.server.net.session import Session
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.fast_ends import EndHeader
from rocketwire.wire.fast_send_back import SendBackHeader
from rocketwire.wire.header import Header

#: After a group of so many bytes from one read, other connections come next: they had to wait.
LONG_GROUP_BYTES: Final = 512 << 10

_START: Final = b'{"code":%d,'
_JSON: Final = 0
_START_LENGTH: Final = len(_START % 10)  # of a code with two digits


class HotPath(Protocol):
    """A fast path for frequent frames: takes what it knows, leaves the rest."""

    def offer(self, session: Session, frame: RawFrame) -> bool:
        """Take the frame into the current group; False: it is unknown or to be refused."""

    def finish(self) -> None:
        """Carry out the group and write its answers."""

    def discard(self) -> None:
        """Drop the group without carrying it out."""


def refuse_all(session: Session, headers: Sequence[EndHeader | SendBackHeader], error: Exception) -> None:
    """Answer the requests of a group that could not be carried out, in JSON."""
    reply = Reply(code=response_code(error), remark=f"{type(error).__name__}: {error}")
    for header in headers:
        session.answer(Header(code=header.code, opaque=header.opaque, flag=header.flag), _JSON, reply)


class HotPaths:
    """Gives each frame to the fast path of its code, which has two digits."""

    def __init__(self, paths: Mapping[int, HotPath]) -> None:
        self._paths = {_START % code: path for code, path in paths.items()}
        self._begun = False

    def offer(self, session: Session, frame: RawFrame) -> bool:
        """Offer the frame to the fast path of its code."""
        path = self._paths.get(bytes(frame.header[:_START_LENGTH]))
        if path is None or not path.offer(session, frame):
            return False
        self._begun = True
        return True

    def finish(self) -> None:
        """Carry out all groups."""
        if self._begun:
            self._begun = False
            for path in self._paths.values():
                path.finish()

    def discard(self) -> None:
        """Drop all groups."""
        self._begun = False
        for path in self._paths.values():
            path.discard()
