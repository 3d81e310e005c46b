"""What a handler gets and what it gives back.

Both are made for every request, so they are msgspec structs: frozen as dataclasses are, at a fraction of the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.wire.codes import FLAG_RESPONSE, VERSION_4_9_7, ResponseCode
from rocketwire.wire.frame import Buffer, FrameHeads
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader, encode_ext

if TYPE_CHECKING:  # whose work gives replies
    from rocketwire.server.core.works import Steps

FieldsT = TypeVar("FieldsT")

_NO_BODY: Final = memoryview(b"")
_LONGEST_REMARK: Final = 16 * 1024
"""Characters: remarks name what a request asked for, however long that is."""


class Peer(Protocol):
    """The connection a request came on, as far as services may know it."""

    @property
    def remote_text(self) -> str:
        """``host:port`` of the other end."""

    @property
    def born_host(self) -> bytes:
        """Address and port of the other end as records hold them: 8 bytes, or 20 for IPv6."""

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Send a one-way request of the server's own; nothing is sent on a closed or congested connection.

        Raises:
            WireError: no frame can hold it.
        """

    def call(
        self,
        code: int,
        ext: dict[str, str],
        body: bytes,
        *,
        seconds: float,
        done: Callable[[Answer | None], Steps[None] | None],
    ) -> None:
        """Send a request of the server's own that the client answers.

        `done` is called once: with the answer (then it may give what is still to be done with it, in steps), or with
        None when there is none after `seconds`, when the connection closes, or (before this returns) when it is closed
        already, congested, or too much waits on it already.

        Raises:
            WireError: no frame can hold it; `done` is not called.
        """

    def reply(self, request: Request[Any], reply: Reply | SharedReply) -> None:
        """Answer a request that was held; nothing is sent for a one-way one or on a closed connection."""

    def flush(self) -> None:
        """Send what was written."""

    def keep(self, size: int) -> None:
        """Note how many bytes of memory, about, are kept for the client until its connection ends."""

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of the client."""

    @property
    def closed(self) -> bool:
        """Whether the connection is closed."""

    @property
    def congested(self) -> bool:
        """Whether answers pile up because the other end does not read."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A client's answer to a request of the server's own."""

    code: int
    remark: str | None
    ext: dict[str, str]
    body: bytes


class Request(msgspec.Struct, Generic[FieldsT], frozen=True, kw_only=True, gc=False):
    """One request with its extension fields decoded.

    `body` is a view into the read buffer: valid until the handler returns.
    """

    peer: Peer
    header: Header
    serialize_type: int
    body: memoryview
    fields: FieldsT

    def held(self) -> Request[None]:
        """What its answer needs, to be kept: the rest may be large, and the body is in a buffer that is used again."""
        header = self.header
        return held_request(self.peer, header.code, header.opaque, self.serialize_type, flag=header.flag)


def held_request(peer: Peer, code: int, opaque: int, serialize_type: int, *, flag: int = 0) -> Request[None]:
    """What the answer of a request needs."""
    return Request(
        peer=peer,
        header=Header(code=code, opaque=opaque, flag=flag),
        serialize_type=serialize_type,
        body=_NO_BODY,
        fields=None,
    )


class Reply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A handler's answer: `fields` is a response header object, `ext` further extension fields."""

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    fields: WireHeader | None = None
    ext: dict[str, str] | None = None
    body: Sequence[Buffer] = ()

    def header(self, opaque: int) -> Header:
        """The header of the answer to a request with this opaque."""
        ext = encode_ext(self.fields) if self.fields is not None else None
        if self.ext is not None:
            ext = {**ext, **self.ext} if ext else self.ext
        return Header(
            code=self.code,
            opaque=opaque,
            flag=FLAG_RESPONSE,
            version=VERSION_4_9_7,
            remark=self.remark if self.remark is None else self.remark[:_LONGEST_REMARK],
            ext=ext,
        )


class SharedReply:
    """One reply to many requests: encoded once in each serialisation, for only the opaques differ."""

    __slots__ = ("_heads", "reply")

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self._heads: dict[int, FrameHeads] = {}

    def head(self, opaque: int, serialize_type: int) -> bytes:
        """The answer's frame up to the body.

        Raises:
            WireError: no frame can hold the answer.
        """
        heads = self._heads.get(serialize_type)
        if heads is None:
            reply = self.reply
            heads = FrameHeads(reply.header(0), sum(map(len, reply.body)), serialize_type)
            self._heads[serialize_type] = heads
        return heads.of(opaque)
