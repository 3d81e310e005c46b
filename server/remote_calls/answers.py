"""The answers to calls: given to their callers, measured, and sent with one write for each read of brokers' answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from rocketwire.remoting.core.session import Response
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.grpc.calls import BrokerConnectionError
from rocketwire.server.upstream.connecting import RequestNotSent, UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader, decode_ext
from rocketwire.wire.headers.pop import ChangeInvisibleTimeResponseHeader, PopMessageResponseHeader
from rocketwire.wire.headers.send import RecallMessageResponseHeader, SendMessageResponseHeader

_RESPONSES: Final[dict[int, type[WireHeader]]] = {
    RequestCode.SEND_MESSAGE_V2: SendMessageResponseHeader,
    RequestCode.SEND_BATCH_MESSAGE: SendMessageResponseHeader,
    RequestCode.POP_MESSAGE: PopMessageResponseHeader,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: ChangeInvisibleTimeResponseHeader,
    RequestCode.RECALL_MESSAGE: RecallMessageResponseHeader,
}


class CallAnswers:
    """Answers the requests of calls.

    Args:
        pool: The connections by which brokers answer.
        on_answered: Called with the code of each answered request, and when it came; None: nothing is measured.
    """

    def __init__(self, pool: ConnectionPool, on_answered: Callable[[int, float], None] | None) -> None:
        self._pool = pool
        self._on_answered = on_answered
        self._began: dict[tuple[GrpcCaller, int], float] = {}
        self._answered: dict[GrpcCaller, None] = {}
        self._flushes = False
        pool.settled.subscribe(self.flush)

    def begin(self, caller: GrpcCaller, header: Header) -> None:
        """A request came."""
        if self._on_answered is not None:
            self._began[caller, header.opaque] = trio.current_time()

    def reply(self, caller: GrpcCaller, header: Header, reply: Reply, serialize_type: int = 0) -> None:
        """Give the reply to a request; the caller sends it with its others."""
        caller.answer(header, serialize_type, reply)
        if self._on_answered is not None:
            began = self._began.pop((caller, header.opaque), None)
            if began is not None:
                self._on_answered(header.code, began)

    def answer(self, caller: GrpcCaller, header: Header, found: Response | UpstreamConnectionError) -> None:
        """Give a broker's answer, which is sent with those of the same read."""
        self.reply(caller, header, reply_of(header.code, found))
        self._answered[caller] = None

    def note_answered(self, caller: GrpcCaller) -> None:
        """Have what is written to a connection sent with the answers of the read that is being taken."""
        self._answered[caller] = None

    def flush(self) -> None:
        """Send the answers that came with one read."""
        if self._answered:
            answered, self._answered = self._answered, {}
            for caller in answered:
                caller.flush()

    def flush_later(self) -> None:
        """Send answers that come with no read."""
        if not self._flushes:
            self._flushes = self._pool.start(self._flush_now)

    async def _flush_now(self) -> None:
        self._flushes = False
        self.flush()


def reply_of(code: int, found: Response | UpstreamConnectionError) -> Reply:
    """A broker's answer as the reply to a request."""
    if isinstance(found, RequestNotSent):
        text = str(found)
        return Reply(
            code=ResponseCode.SYSTEM_ERROR, remark=text, error=BrokerConnectionError(Code.INTERNAL_SERVER_ERROR, text)
        )
    if isinstance(found, UpstreamConnectionError):
        text = str(found)
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark=text, error=CallInvalid(Code.PROXY_TIMEOUT, text))
    cls, fields = _RESPONSES.get(code), None
    if cls is not None and found.ext:
        try:
            fields = decode_ext(cls, found.ext)
        except WireError:  # of a refusal
            fields = None
    return Reply(code=found.code, remark=found.remark, fields=fields, body=(found.body,) if found.body else ())
