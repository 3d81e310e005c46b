"""Answers to one connection's requests, in the serialisation of each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from rocketwire.server.core.errors import response_code
from rocketwire.server.core.request import Reply
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import FLAG_ONEWAY
from rocketwire.wire.frame import Buffer, encode_frame, encode_frame_head
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


class Answers:
    """Encodes the answers of one connection, and keeps those that others want instead of the client."""

    __slots__ = ("_intercepted", "_remote_text")

    def __init__(self, remote_text: str) -> None:
        self._remote_text = remote_text
        self._intercepted: dict[tuple[int, int], Callable[[bytes], None]] | None = None

    def encode(self, request: Header, serialize_type: int, reply: Reply) -> Sequence[Buffer]:
        """The answer to a request in its own serialisation; empty: nothing is to be written.

        An answer that does not fit in a frame is replaced by an error. One-way requests are not answered.
        """
        if request.flag & FLAG_ONEWAY:
            return ()
        try:
            return self._encode(request, serialize_type, reply)
        except WireError as error:
            log.warning(
                "answer to request %(code)d from %(peer)s: %(reason)s",
                {"code": request.code, "peer": self._remote_text, "reason": error},
            )
            ext: dict[str, str] | None = None if reply.fields is None and reply.ext is None else {}
            return self._encode(request, serialize_type, Reply(code=response_code(error), remark=str(error), ext=ext))

    def _encode(self, request: Header, serialize_type: int, reply: Reply) -> Sequence[Buffer]:
        header = reply.header(request.opaque)
        body = reply.body
        if self._intercepted and (request.code, request.opaque) in self._intercepted:
            frame = encode_frame(header, b"".join(body), serialize_type)
            self._intercepted.pop((request.code, request.opaque))(frame)
            return ()
        return encode_frame_head(header, sum(map(len, body)), serialize_type), *body

    @property
    def intercepts(self) -> bool:
        """Whether some answers are intercepted."""
        return bool(self._intercepted)

    def intercept(self, request: Header, take: Callable[[bytes], None]) -> None:
        """Pass the whole frame of the answer to one request to `take` instead of the client."""
        if self._intercepted is None:
            self._intercepted = {}
        self._intercepted[request.code, request.opaque] = take

    def take_intercepted(self, opaque: int, frame: bytes) -> bool:
        """Pass the whole frame of an answer on if it is intercepted; return whether it is."""
        intercepted = self._intercepted or {}
        key = next((each for each in intercepted if each[1] == opaque), None)
        if key is None:
            return False
        intercepted.pop(key)(frame)
        return True

    def forget(self) -> None:
        """Intercept nothing any more."""
        self._intercepted = None
