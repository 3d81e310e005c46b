"""What is asked of a broker on behalf of a group: membership, queue locks, offsets, pulls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

from rocketwire.server.upstream.broker_connection import BrokerAnswer
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.errors import RequestNotSent, UpstreamUnreachable
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageModel,
    MessageQueue,
    SubscriptionData,
    UnlockBatchRequestBody,
)
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.headers import WireHeader, decode_ext, encode_ext
from rocketwire.wire.headers.client import GetConsumerListByGroupRequestHeader, UnregisterClientRequestHeader
from rocketwire.wire.headers.offset import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rocketwire.wire.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

SUSPEND_MS: Final = 15_000
"""For how long a pull waits at the broker."""
SECONDS: Final = 5.0
"""For how long an answer is waited for otherwise."""
_MOST_A_PULL: Final = 32
_PULLED: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    }
)
T = TypeVar("T")
H = TypeVar("H", bound=WireHeader)


class SubscriptionFilter(NamedTuple):
    """What a group wants of a topic: the expression and its type."""

    text: str
    kind: str


class GroupRpc:
    """Asks one broker for one group, under the proxy's own client id.

    Every method raises `UpstreamUnreachable` when the broker does not answer, or refuses.
    """

    def __init__(
        self, lines: ConnectionPool, address: Callable[[], Address | None], *, broker: str, group: str, client_id: str
    ) -> None:
        self._lines = lines
        self._address = address
        self._broker = broker
        self._group = group
        self._client_id = client_id

    async def send_heartbeat(self, subscriptions: Iterable[tuple[str, SubscriptionFilter]], now: int) -> None:
        """Be a member of the group."""
        data = ConsumerData(
            group_name=self._group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=tuple(
                SubscriptionData(topic=topic, sub_string=wanted.text, expression_type=wanted.kind, sub_version=now)
                for topic, wanted in subscriptions
            ),
        )
        body = encode_body(HeartbeatData(client_id=self._client_id, consumer_data_set=(data,)))
        await self._asked(RequestCode.HEART_BEAT, None, body)

    async def leave(self) -> None:
        """Be no member any more."""
        header = UnregisterClientRequestHeader(client_id=self._client_id, consumer_group=self._group)
        await self._asked(RequestCode.UNREGISTER_CLIENT, header)

    async def members(self) -> tuple[str, ...]:
        """The client ids of the group."""
        header = GetConsumerListByGroupRequestHeader(consumer_group=self._group)
        answer = await self._asked(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        return _read(GetConsumerListByGroupResponseBody, answer).consumer_id_list

    async def lock(self, queues: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Lock queues, or keep their locks; returns those that are locked."""
        body = LockBatchRequestBody(client_id=self._client_id, consumer_group=self._group, mq_set=self._queues(queues))
        answer = await self._asked(RequestCode.LOCK_BATCH_MQ, None, encode_body(body))
        found = _read(LockBatchResponseBody, answer)
        return {(each.topic, each.queue_id) for each in found.lock_ok_mq_set}

    async def unlock(self, queues: Iterable[tuple[str, int]]) -> None:
        """Give up locks."""
        told = self._queues(queues)
        body = UnlockBatchRequestBody(client_id=self._client_id, consumer_group=self._group, mq_set=told)
        await self._asked(RequestCode.UNLOCK_BATCH_MQ, None, encode_body(body))

    def _queues(self, queues: Iterable[tuple[str, int]]) -> tuple[MessageQueue, ...]:
        return tuple(MessageQueue(topic=topic, broker_name=self._broker, queue_id=queue) for topic, queue in queues)

    async def first_offset(self, topic: str, queue: int, *, retried: bool) -> int:
        """Where the group goes on in a queue; a new group begins with the newest message, as with POP."""
        header = QueryConsumerOffsetRequestHeader(consumer_group=self._group, topic=topic, queue_id=queue)
        answer = await self._ask(RequestCode.QUERY_CONSUMER_OFFSET, header)
        if answer.code == ResponseCode.SUCCESS:
            return _fields(QueryConsumerOffsetResponseHeader, answer).offset
        if answer.code != ResponseCode.QUERY_NOT_FOUND:
            raise UpstreamUnreachable(f"{self._broker} refuses with {answer.code}: {answer.remark}")
        least = await self._asked(RequestCode.GET_MIN_OFFSET, GetMinOffsetRequestHeader(topic=topic, queue_id=queue))
        offset = _fields(GetMinOffsetResponseHeader, least).offset
        if not retried:
            most = await self._asked(RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequestHeader(topic=topic, queue_id=queue))
            offset = max(offset, _fields(GetMaxOffsetResponseHeader, most).offset - 1)
        await self.commit(topic, queue, offset)
        return offset

    async def commit(self, topic: str, queue: int, offset: int) -> None:
        """Store the group's offset of a queue."""
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self._group, topic=topic, queue_id=queue, commit_offset=offset
        )
        await self._asked(RequestCode.UPDATE_CONSUMER_OFFSET, header)

    async def pull(self, topic: str, queue: int, offset: int, wanted: SubscriptionFilter) -> tuple[bytes, int]:
        """The records of a queue from an offset on, and the next offset; waits at the broker while there is none."""
        header = PullMessageRequestHeader(
            consumer_group=self._group,
            topic=topic,
            queue_id=queue,
            queue_offset=offset,
            max_msg_nums=_MOST_A_PULL,
            sys_flag=PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION,
            suspend_timeout_millis=SUSPEND_MS,
            subscription=wanted.text,
            expression_type=wanted.kind,
        )
        answer = await self._ask(RequestCode.PULL_MESSAGE, header, seconds=SUSPEND_MS / 1000 + SECONDS)
        if answer.code not in _PULLED:
            raise UpstreamUnreachable(f"{self._broker} refuses with {answer.code}: {answer.remark}")
        next_offset = _fields(PullMessageResponseHeader, answer).next_begin_offset
        return (answer.body if answer.code == ResponseCode.SUCCESS else b""), next_offset

    async def _ask(
        self, code: int, header: WireHeader | None, body: bytes = b"", *, seconds: float = SECONDS
    ) -> BrokerAnswer:
        address = self._address()
        if address is None:
            raise RequestNotSent(f"no broker {self._broker} is known")
        return await self._lines.ask(address, code, {} if header is None else encode_ext(header), body, seconds=seconds)

    async def _asked(self, code: int, header: WireHeader | None, body: bytes = b"") -> BrokerAnswer:
        answer = await self._ask(code, header, body)
        if answer.code != ResponseCode.SUCCESS:
            raise UpstreamUnreachable(f"{self._broker} refuses {code} with {answer.code}: {answer.remark}")
        return answer


def _read(kind: type[T], answer: BrokerAnswer) -> T:
    try:
        return decode_body(kind, answer.body)
    except WireError as error:
        raise UpstreamUnreachable(str(error)) from error


def _fields(kind: type[H], answer: BrokerAnswer) -> H:
    try:
        return decode_ext(kind, dict(answer.ext))
    except WireError as error:
        raise UpstreamUnreachable(str(error)) from error
