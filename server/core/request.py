"""The request that a handler receives and the reply that it returns.

Both are made for every request, so they are msgspec structs: frozen like dataclasses, at a fraction of the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from rocketwire.remoting.core.session import Response
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.wire.facts.codes import FLAG_RESPONSE, VERSION_4_9_7, ResponseCode
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader, encode_ext
from rocketwire.wire.signature import ACCESS_KEY

if TYPE_CHECKING:  # for annotations only
    from rocketwire.remoting.core.steps import Operation

FieldsT = TypeVar("FieldsT")

OnClientAnswer: TypeAlias = "Callable[[Response | None], Operation[None] | None]"
"""Called with a client's answer, None if there is none; returns the work that remains, if any."""
_NO_BODY: Final = memoryview(b"")
NOT_A_FRAME: Final = -1
_LONGEST_REMARK: Final = 16 * 1024
"""Characters: remarks quote parts of the request, which may be long."""


class Peer(Protocol):
    """A client's connection, as services see it."""

    @property
    def remote_text(self) -> str:
        """``host:port`` of the other end."""

    @property
    def born_host(self) -> bytes:
        """Address and port of the other end as records hold them: 8 bytes, or 20 for IPv6."""

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Send a one-way request of the server's own; nothing is sent on a closed or congested connection.

        Raises:
            WireError: it does not fit in a frame.
        """

    def call(self, code: int, ext: dict[str, str], body: bytes, *, seconds: float, done: OnClientAnswer) -> None:
        """Send a request of the server's own that the client answers.

        `done` is called once: with the answer (then it may return further work, in steps), or with None when there is
        no answer within `seconds`, when the connection closes, or (before this returns) when it is already closed,
        congested, or waits for too many answers.

        Raises:
            WireError: it does not fit in a frame; `done` is not called.
        """

    def reply(self, request: Request[Any], reply: Reply) -> None:
        """Answer a held request; nothing is sent for a one-way request or on a closed connection."""

    def flush(self) -> None:
        """Send the buffered bytes."""

    def keep(self, size: int) -> None:
        """Count about so many bytes of memory as kept for the client until its connection ends."""

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of this client."""

    @property
    def closed(self) -> bool:
        """Whether the connection is closed."""

    @property
    def congested(self) -> bool:
        """Whether answers pile up because the other end does not read."""


class CallSignature(NamedTuple):
    """The signature of a request whose header has no fields for it.

    Attributes:
        remote_text: The client's ``host:port``; the request's peer may have other connections, too.
        access_key: The account; empty: the request names none.
        signed: The text that is signed with its secret key.
        signature: The HMAC-SHA1 of the text, in base64; other bytes if the client sent none.
    """

    remote_text: str
    access_key: str = ""
    signed: bytes = b""
    signature: bytes = b""


def account_named_by(header: Header, proof: CallSignature | None) -> str:
    """The account that a request names; empty: none. `proof` has it if the header's fields do not."""
    if proof is not None:
        return proof.access_key
    return "" if header.ext is None else header.ext.get(ACCESS_KEY, "")


class Request(msgspec.Struct, Generic[FieldsT], frozen=True, kw_only=True, gc=False):
    """One request with its extension fields decoded.

    `body` is a view into the read buffer: valid until the handler returns. `serialize_type` is `NOT_A_FRAME` if the
    request came in no frame; then `call_signature` may name the account, and `broker` the broker that it is for.
    `account` is the account that the request names, if guards have admitted it.
    """

    peer: Peer
    header: Header
    serialize_type: int
    body: memoryview
    fields: FieldsT
    call_signature: CallSignature | None = None
    broker: str | None = None
    account: str = ""

    def held(self) -> Request[None]:
        """A copy with only what the answer needs: the header may be large, and the body's buffer will be reused."""
        header = self.header
        return held_request(self.peer, header.code, header.opaque, self.serialize_type, flag=header.flag)


def held_request(peer: Peer, code: int, opaque: int, serialize_type: int, *, flag: int = 0) -> Request[None]:
    """A request with only what its answer needs."""
    return Request(
        peer=peer,
        header=Header(code=code, opaque=opaque, flag=flag),
        serialize_type=serialize_type,
        body=_NO_BODY,
        fields=None,
    )


class Reply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A handler's answer: `fields` is a response header object, `ext` further extension fields.

    `error` is why dispatch refused the request; it is not sent.
    """

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    fields: WireHeader | None = None
    ext: dict[str, str] | None = None
    body: Sequence[Buffer] = ()
    error: Exception | None = None

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
