"""One connection without its socket: numbers requests, encodes them, and reads answers and the peer's requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from rocketwire.wire.connection import FrameReader
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    VERSION_4_9_7,
    RequestCode,
    ResponseCode,
    SerializeType,
)
from rocketwire.wire.frame import Buffer, encode_frame
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import WireHeader, encode_ext
from rocketwire.wire.java import INT32_MAX

_SHORT: Final = frozenset({RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE})
"""The requests whose fields have short names."""


LANGUAGE: Final = "PYTHON"
"""What the endpoint's tools show of the client."""
SignRequest: TypeAlias = Callable[[Header, Buffer], Header]
"""Signs a request with a body."""


class ClientRequest(NamedTuple):
    """A request.

    Attributes:
        code: Its code.
        fields: Its fields, or their texts by their names on the wire.
        body: Its body.
        language: The language of the client; None: that of the session.
        version: The version of the client.
        remark: Its remark, which servers ignore.
    """

    code: int
    fields: WireHeader | dict[str, str] | None = None
    body: Buffer = b""
    language: str | None = None
    version: int = VERSION_4_9_7
    remark: str | None = None


class Response(NamedTuple):
    """A response: its code, remark, extension fields and body."""

    code: int
    remark: str | None
    ext: dict[str, str]
    body: bytes


class ResponseReceived(NamedTuple):
    """The peer answered the request of an opaque."""

    opaque: int
    answer: Response


class RequestReceived(NamedTuple):
    """A request of the peer; `oneway`: it wants no answer."""

    opaque: int
    code: int
    ext: dict[str, str]
    body: bytes
    oneway: bool
    serialize_type: int


class ClientSession:
    """The state of a connection.

    Args:
        sign: Signs the requests; None for endpoints without access control.
        serialize: How headers are written; the peer answers in the same form.
        language: The client's language, which tools of the endpoint show.
        last_opaque: The number of a request after which they begin again at 1.
    """

    def __init__(
        self,
        *,
        sign: SignRequest | None = None,
        serialize: SerializeType = SerializeType.JSON,
        language: str = "JAVA",
        last_opaque: int = INT32_MAX,
    ) -> None:
        self._sign = sign
        self._last_opaque = last_opaque
        self._serialize = serialize
        self._language = language
        self._opaque = 0
        self._reader = FrameReader()

    def request(self, request: ClientRequest, *, oneway: bool = False) -> tuple[int, bytes]:
        """The opaque and the bytes of a request; no answer comes to a one-way request.

        Raises:
            WireError: it cannot be written: it is too long, for instance.
        """
        self._opaque = self._opaque % self._last_opaque + 1
        code, fields, body, language, version, remark = request
        ext = encode_ext(fields, short=code in _SHORT) if isinstance(fields, WireHeader) else fields
        header = Header(
            code=code,
            opaque=self._opaque,
            flag=FLAG_ONEWAY if oneway else 0,
            language=language or self._language,
            version=version,
            remark=remark,
            ext=ext,
        )
        if self._sign is not None:
            header = self._sign(header, body)
        return self._opaque, encode_frame(header, body, self._serialize)

    def reply(
        self,
        request: RequestReceived,
        *,
        code: int = ResponseCode.SUCCESS,
        remark: str | None = None,
        body: bytes = b"",
    ) -> bytes:
        """The bytes of the answer to a request of the peer, in the serialisation of that request."""
        header = Header(
            code=code,
            opaque=request.opaque,
            flag=FLAG_RESPONSE,
            language=self._language,
            version=VERSION_4_9_7,
            remark=remark,
        )
        return encode_frame(header, body, request.serialize_type)

    @property
    def pending_bytes(self) -> int:
        """Bytes received of a frame whose end has not arrived."""
        return self._reader.pending_bytes

    def receive(self, data: Buffer) -> tuple[list[ResponseReceived | RequestReceived], WireError | None]:
        """What bytes of the peer complete, and the error if they are not RocketMQ's protocol.

        After an error the session must not be used again.
        """
        frames, error = self._reader.receive(memoryview(data))
        found: list[ResponseReceived | RequestReceived] = []
        try:
            for serialize_type, head, content in frames:
                header, body = decode_header(head, serialize_type), bytes(content)
                ext = header.ext or {}
                if header.is_response:
                    found.append(ResponseReceived(header.opaque, Response(header.code, header.remark, ext, body)))
                else:
                    found.append(
                        RequestReceived(header.opaque, header.code, ext, body, header.is_oneway, serialize_type)
                    )
        except WireError as broken:
            return found, broken
        return found, error
