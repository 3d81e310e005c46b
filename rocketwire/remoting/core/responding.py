"""What a push consumer answers to requests of brokers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from rocketwire.remoting.core.consuming import Consuming
from rocketwire.remoting.core.incoming import message_of
from rocketwire.remoting.core.session import Asked
from rocketwire.remoting.core.steps import Operation, Reply
from rocketwire.remoting.core.stock import Stock
from rocketwire.remoting.messages import Later, Queue
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import ConsumeType, MessageQueue
from rocketwire.wire.bodies.online import (
    ConsumeMessageDirectlyResult,
    ConsumeResult,
    ConsumerRunningInfo,
    GetConsumerStatusBody,
    ProcessQueueInfo,
    ResetOffsetBody,
)
from rocketwire.wire.codes import VERSION_4_9_7, RequestCode, ResponseCode, version_name
from rocketwire.wire.errors import WireError
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.online import ConsumeMessageDirectlyResultRequestHeader, GetConsumerStatusRequestHeader
from rocketwire.wire.message import decode_record

log = logging.getLogger(__name__)

_MIB: Final = 1 << 20


class Responding:
    """Answers for one push consumer."""

    def __init__(self, consuming: Consuming) -> None:
        self._consuming = consuming
        self._known: dict[int, Callable[[Asked], Operation[Reply | None]]] = {
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: self._members_changed,
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET: self._reset,
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: self._offsets,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self._consume,
        }

    def respond(self, asked: Asked) -> Operation[Reply | None]:
        """Carry out a request; None if it is not one of a consumer."""
        respond = self._known.get(asked.code)
        if respond is None:
            return None
        try:
            return (yield from respond(asked))
        except WireError as error:
            log.warning("request %d of the broker is not as it should be: %s", asked.code, error)
            return Reply(ResponseCode.SYSTEM_ERROR, str(error))

    def _members_changed(self, _: Asked) -> Operation[Reply | None]:
        self._consuming.rebalance_soon()
        yield from ()
        return Reply()

    def _reset(self, asked: Asked) -> Operation[Reply | None]:
        for queue, offset in decode_body(ResetOffsetBody, asked.body).offset_table.items():
            log.info("%s is reset to offset %d", queue, offset)
            self._consuming.reset(Queue(queue.topic, queue.broker_name, queue.queue_id), offset)
        yield from ()
        return Reply()

    def _offsets(self, asked: Asked) -> Operation[Reply | None]:
        topic = decode_ext(GetConsumerStatusRequestHeader, asked.ext).topic
        offsets = {_wire(each.queue): each.offset for each in self._stocks() if each.queue.topic == topic}
        yield from ()
        return Reply(body=encode_body(GetConsumerStatusBody(message_queue_table=offsets)))

    def _running_info(self, _: Asked) -> Operation[Reply | None]:
        consuming = self._consuming
        properties = {
            "PROP_NAMESERVER_ADDR": consuming.client.settings.name_servers,
            "PROP_CONSUME_TYPE": ConsumeType.CONSUME_PASSIVELY.value,
            "PROP_CONSUMEORDERLY": "false",
            "PROP_THREADPOOL_CORE_SIZE": str(consuming.concurrency),
            "PROP_CLIENT_VERSION": version_name(VERSION_4_9_7),
            "PROP_CONSUMER_START_TIMESTAMP": str(consuming.started_at),
        }
        info = ConsumerRunningInfo(
            properties=properties,
            subscription_set=tuple(consuming.subscriptions.values()),
            mq_table={_wire(each.queue): _state(each) for each in self._stocks()},
        )
        yield from ()
        return Reply(body=encode_body(info))

    def _consume(self, asked: Asked) -> Operation[Reply | None]:
        """Give the handler a message now, whatever becomes of it."""
        fields = decode_ext(ConsumeMessageDirectlyResultRequestHeader, asked.ext)
        message = message_of(decode_record(bytes(asked.body)), fields.broker_name or "")
        around = self._consuming.client.around
        begun = around.monotonic()
        outcome = yield from self._consuming.handling.handled(message)
        if outcome is None:
            found = ConsumeResult.CR_SUCCESS
        else:
            found = ConsumeResult.CR_LATER if isinstance(outcome, Later) else ConsumeResult.CR_THROW_EXCEPTION
        result = ConsumeMessageDirectlyResult(
            consume_result=found,
            remark=repr(outcome) if isinstance(outcome, Exception) else None,
            spent_time_mills=int((around.monotonic() - begun) * 1000),
        )
        return Reply(body=encode_body(result))

    def _stocks(self) -> list[Stock]:
        return list(self._consuming.stocks.values())


def _wire(queue: Queue) -> MessageQueue:
    return MessageQueue(topic=queue.topic, broker_name=queue.broker, queue_id=queue.queue_id)


def _state(stock: Stock) -> ProcessQueueInfo:
    offsets = stock.offsets
    return ProcessQueueInfo(
        commit_offset=stock.offset,
        cached_msg_min_offset=offsets[0] if offsets else 0,
        cached_msg_max_offset=offsets[-1] if offsets else 0,
        cached_msg_count=len(stock),
        cached_msg_size_in_mib=stock.bytes // _MIB,
        droped=stock.is_dropped,
        last_pull_timestamp=stock.pulled_at,
        last_consume_timestamp=stock.consumed_at,
    )
