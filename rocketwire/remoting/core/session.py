"""One connection without its socket: numbers requests, encodes them, and reads answers and the peer's requests."""

from __future__ import annotations

from typing import Final, NamedTuple

from rocketwire.remoting.credentials import Credentials, Signer
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
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import WireHeader, encode_ext
from rocketwire.wire.java import INT32_MAX

_SHORT: Final = frozenset({RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE})
"""The requests whose fields have short names."""


class ClientRequest(NamedTuple):
    """A request: its code, fields and body."""

    code: RequestCode
    fields: WireHeader | None = None
    body: bytes = b""


class Response(NamedTuple):
    """A response: its code, remark, extension fields and body."""

    code: int
    remark: str | None
    ext: dict[str, str]
    body: memoryview


class ResponseReceived(NamedTuple):
    """The peer answered the request of an opaque."""

    opaque: int
    answer: Response


class RequestReceived(NamedTuple):
    """A request of the peer; `oneway` says that it wants no answer."""

    opaque: int
    code: int
    ext: dict[str, str]
    body: memoryview
    oneway: bool
    serialize_type: int


class ClientSession:
    """The state of a connection.

    Args:
        credentials: The account that signs the requests; None for endpoints without access control.
        serialize: How headers are written; the peer answers in the same form.
        language: The client's language, which tools of the endpoint show.
    """

    def __init__(
        self,
        *,
        credentials: Credentials | None = None,
        serialize: SerializeType = SerializeType.JSON,
        language: str = "JAVA",
    ) -> None:
        self._signer = None if credentials is None else Signer(credentials)
        self._serialize = serialize
        self._language = language
        self._opaque = 0
        self._reader = FrameReader()

    def request(self, request: ClientRequest, *, oneway: bool = False) -> tuple[int, bytes]:
        """The opaque and the bytes of a request; no answer comes to a one-way request.

        Raises:
            WireError: it cannot be written: it is too long, for instance.
        """
        self._opaque = self._opaque % INT32_MAX + 1
        code, fields, body = request
        ext = None if fields is None else encode_ext(fields, short=code in _SHORT)
        header = Header(
            code=code,
            opaque=self._opaque,
            flag=FLAG_ONEWAY if oneway else 0,
            language=self._language,
            version=VERSION_4_9_7,
            ext=ext,
        )
        if self._signer is not None:
            header = self._signer.signed(header, body)
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

    def receive(self, data: bytes) -> tuple[list[ResponseReceived | RequestReceived], WireError | None]:
        """What bytes of the peer complete, and the error if they are not RocketMQ's protocol.

        After an error the session must not be used again.
        """
        frames, error = self._reader.receive(memoryview(data))
        found: list[ResponseReceived | RequestReceived] = []
        try:
            for frame in frames:
                header = decode_header(frame.header, frame.serialize_type)
                ext = header.ext or {}
                if header.is_response:
                    found.append(ResponseReceived(header.opaque, Response(header.code, header.remark, ext, frame.body)))
                else:
                    oneway = header.is_oneway
                    found.append(
                        RequestReceived(header.opaque, header.code, ext, frame.body, oneway, frame.serialize_type)
                    )
        except WireError as broken:
            return found, broken
        return found, error
