"""Queries by key (12) at a broker far away, without messages of other topics.

The index of a broker has the hash of topic and key only: an answer of Apache's brokers may have messages of any topic,
and their clients drop those. An account that may read one topic could read all, for a key of any hash is easily found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.server.core.request import Reply
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.header import Header

_SECONDS: Final = 10.0
_LENGTH: Final = 4
_NONE: Final = "can not find message, maybe time range not correct"


class RemoteQueries:
    """Sends queries to brokers.

    Args:
        pool: The connections to them, signed with the proxy's account if it has one.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    async def answer(self, header: Header, broker: Address) -> Reply:
        """The answer of a broker to a query, with messages of the topic that it names only."""
        ext = header.ext or {}
        request = ClientRequest(header.code, ext, language=header.language, version=header.version)
        (found,) = await self._pool.send_requests(broker, [request], seconds=_SECONDS)
        if isinstance(found, UpstreamConnectionError):
            return Reply(code=ResponseCode.SERVICE_NOT_AVAILABLE, remark=f"the broker cannot be reached: {found}")
        body = b"".join(_of_topic(memoryview(found.body), ext.get("topic", "")))
        if found.code == ResponseCode.SUCCESS and not body:
            return Reply(code=ResponseCode.QUERY_NOT_FOUND, remark=_NONE, ext=found.ext)
        return Reply(code=found.code, remark=found.remark, ext=found.ext, body=(body,) if body else ())


def _of_topic(records: memoryview, topic: str) -> Iterator[memoryview]:
    """The records of a topic, up to one that cannot be read."""
    while len(records) >= _LENGTH:
        size = int.from_bytes(records[:_LENGTH])
        record = records[:size]
        try:
            if stored_message(record).topic == topic:
                yield record
        except RecordInvalid:
            return
        records = records[size:]
