"""Answers to one connection's requests, in the serialisation of each."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any

import trio

from rocketwire.server.core.errors import response_code
from rocketwire.server.core.request import Reply, Request, SharedReply
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.outgoing import Outgoing
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import FLAG_ONEWAY
from rocketwire.wire.frame import encode_frame, encode_frame_head
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


class Answering(Outgoing):
    """The answering part of a client's connection."""

    __slots__ = ("_diverted",)

    def __init__(
        self, sock: socket.socket, remote: tuple[str, int], *, nursery: trio.Nursery, in_flight: InFlight
    ) -> None:
        super().__init__(sock, remote, nursery=nursery, in_flight=in_flight)
        self._diverted: dict[tuple[int, int], Callable[[bytes], None]] | None = None

    def reply(self, request: Request[Any], reply: Reply | SharedReply) -> None:
        """Answer a held request."""
        header = request.header
        if isinstance(reply, Reply):
            self.answer(header, request.serialize_type, reply)
        elif self._diverted and (header.code, header.opaque) in self._diverted:
            self.answer(header, request.serialize_type, reply.reply)
        elif not header.flag & FLAG_ONEWAY:
            try:
                head = reply.head(header.opaque, request.serialize_type)
            except WireError:
                self.answer(header, request.serialize_type, reply.reply)
            else:
                self.write(head, *reply.reply.body)

    def answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        """Answer a request in its own serialisation; nothing is written for a one-way request.

        An answer that does not fit in a frame is replaced by an error.
        """
        if request.flag & FLAG_ONEWAY or self._closed:
            return
        try:
            self._write_answer(request, serialize_type, reply)
        except WireError as error:
            log.warning(
                "answer to request %(code)d from %(peer)s: %(reason)s",
                {"code": request.code, "peer": self.remote_text, "reason": error},
            )
            ext: dict[str, str] | None = None if reply.fields is None and reply.ext is None else {}
            refusal = Reply(code=response_code(error), remark=str(error), ext=ext)
            self._write_answer(request, serialize_type, refusal)

    def _write_answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        header = reply.header(request.opaque)
        body = reply.body
        if self._diverted and (request.code, request.opaque) in self._diverted:
            frame = encode_frame(header, b"".join(body), serialize_type)
            self._diverted.pop((request.code, request.opaque))(frame)
        elif body:
            self.write(encode_frame_head(header, sum(map(len, body)), serialize_type), *body)
        else:
            self.write(encode_frame(header, b"", serialize_type))

    @property
    def intercepts(self) -> bool:
        """Whether some answers are diverted: then all must be written by `answer` or `reply`."""
        return bool(self._diverted)

    def intercept(self, request: Header, take: Callable[[bytes], None]) -> None:
        """Pass the whole frame of the answer to one request to `take` instead of the client."""
        if self._diverted is None:
            self._diverted = {}
        self._diverted[request.code, request.opaque] = take

    def take_intercepted(self, opaque: int, frame: bytes) -> bool:
        """Pass the whole frame of an answer on if it is diverted; return whether it is."""
        diverted = self._diverted or {}
        key = next((each for each in diverted if each[1] == opaque), None)
        if key is None:
            return False
        diverted.pop(key)(frame)
        return True

    def close(self) -> None:
        """Close the socket and drop what is buffered; further calls do nothing."""
        super().close()
        self._diverted = None
