"""What fault rules match on: the topic and groups of a request, wherever its header or body names them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.client import HeartbeatData, LockBatchRequestBody
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header

_SHORT: Final = frozenset(
    {RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2}
)
_GROUPS: Final = ("consumerGroup", "producerGroup", "group", "groupName")
_TOPICS: Final = ("topic", "originTopic")
_GROUPS_SHORT: Final = ("a",)
_TOPICS_SHORT: Final = ("b",)


class RequestSubject:
    """Topic and groups of one request. The body is parsed at most once, when a rule has a group."""

    __slots__ = ("_body", "_header", "_in_body")

    def __init__(self, header: Header, body: Buffer) -> None:
        self._header = header
        self._body = body
        self._in_body: frozenset[str] | None = None

    def has_topic(self, topic: str) -> bool:
        """Whether the header names this topic."""
        header = self._header
        return _names(header, _TOPICS_SHORT if header.code in _SHORT else _TOPICS, topic)

    def has_group(self, group: str) -> bool:
        """Whether the header, or else the body, names this producer or consumer group."""
        header = self._header
        if _names(header, _GROUPS_SHORT if header.code in _SHORT else _GROUPS, group):
            return True
        if self._in_body is None:
            self._in_body = frozenset(_groups_in(header.code, self._body))
        return group in self._in_body


_MOST_ENTRIES: Final = 16_384
"""Of a body that is read for the groups in it: so many take 30 ms."""


def _names(header: Header, names: tuple[str, ...], value: str) -> bool:
    ext = header.ext
    return ext is not None and any(ext.get(name) == value for name in names)


def _groups_in(code: int, body: Buffer) -> Iterator[str]:
    try:
        if code == RequestCode.HEART_BEAT:
            data = decode_body(HeartbeatData, body, most_entries=_MOST_ENTRIES)
            yield from (each.group_name for each in data.consumer_data_set)
            yield from (each.group_name for each in data.producer_data_set)
        elif code in {RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ}:
            yield decode_body(LockBatchRequestBody, body, most_entries=_MOST_ENTRIES).consumer_group
    except BodyInvalid:
        pass  # the handler reports the error
