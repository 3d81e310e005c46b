"""A broker that answers every frame as a test defines, on a separate thread."""

import contextlib
import socket
import struct
from collections.abc import Callable

from rocketwire.wire.frame import Frame, decode_frame, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.message import MessageRecord, encode_record
from tests.bench.fake_server import FakeServer

Answer = tuple[int, dict[str, str], bytes]
"""Response code, extFields, body."""


def record(offset: int, *, stored: int = 1, body: bytes = b"x" * 100, properties: bytes = b"") -> bytes:
    """A record of queue 0 that was born at 1 ms and stored at `stored` ms."""
    return encode_record(
        MessageRecord(
            topic="T",
            queue_id=0,
            flag=0,
            queue_offset=offset,
            physical_offset=0,
            sys_flag=0,
            born_timestamp=1,
            born_host=("127.0.0.1", 1),
            store_timestamp=stored,
            store_host=("127.0.0.1", 2),
            reconsume_times=0,
            prepared_transaction_offset=0,
            body=body,
            properties=properties,
        )
    )


class FakeBroker(FakeServer):
    def __init__(self, answer: Callable[[Frame], Answer | None]) -> None:
        """`answer` returns the answer to a request; None closes the connection instead."""
        super().__init__()
        self._answer = answer
        self.requests: list[Frame] = []

    def serve(self, client: socket.socket) -> None:
        # The load program may leave with answers on their way.
        with contextlib.suppress(OSError), client, client.makefile("rb") as reader:
            while head := reader.read(4):
                frame = decode_frame(head + reader.read(struct.unpack(">i", head)[0]))
                self.requests.append(frame)
                said = self._answer(frame)
                if said is None:
                    return
                code, ext, body = said
                header = Header(code=code, opaque=frame.header.opaque, flag=1, ext=ext, version=407)
                client.sendall(encode_frame(header, body))
