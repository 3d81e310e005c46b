"""A call, from its headers to the end of its answer."""

from __future__ import annotations

from rocketwire.wire.http2.intake import IncomingRequest
from rocketwire.wire.http2.messages import MessageReader
from rocketwire.wire.http2.requests import RequestHead


class Call(IncomingRequest):
    """A call whose answer is not finished.

    Attributes:
        path: Its method.
        fields: Its metadata.
        streaming: Whether its request is a stream of messages.
        longest: How long a message of it may be, in bytes.
        reader: What has come of the request; None: nothing.
        expected: Bytes of data that are still to come, if its headers say it.
        room: Bytes that its client may send of it, as the window of its stream allows.
        owed: Bytes of that window to give back.
        ended: Whether the client has ended the request.
        started: Whether the answer has begun.
        window: Bytes of the answer that the client takes.
        out: Messages of the answer that are to send.
        trailers: The block of headers that ends the answer; None: more may be added.
        over: Whether it is answered or reset.
    """

    __slots__ = (
        "ended",
        "expected",
        "fields",
        "longest",
        "out",
        "over",
        "owed",
        "path",
        "reader",
        "room",
        "started",
        "streaming",
        "trailers",
        "window",
    )

    def __init__(
        self, stream: int, head: RequestHead, *, streaming: bool, longest: int, room: int, window: int
    ) -> None:
        super().__init__(stream)
        self.path = head.path
        self.fields = head.fields
        self.streaming = streaming
        self.longest = longest
        self.reader: MessageReader | None = None
        self.expected: int | None = None
        self.room = room
        self.window = window
        self.owed = 0
        self.ended = self.started = self.over = False
        self.out = bytearray()
        self.trailers: bytes | None = None
