"""What a push consumer answers to requests of brokers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from rocketwire.remoting.core.consuming import PushConsumerCore
from rocketwire.remoting.core.incoming import decode_message
from rocketwire.remoting.core.process_queue import ProcessQueue
from rocketwire.remoting.core.session import RequestReceived
from rocketwire.remoting.core.steps import ClientReply, Operation
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
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import VERSION_4_9_7, RequestCode, ResponseCode, version_name
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.online import ConsumeMessageDirectlyResultRequestHeader, GetConsumerStatusRequestHeader
from rocketwire.wire.message import decode_record

log = logging.getLogger(__name__)

_MIB: Final = 1 << 20


class BrokerRequestResponder:
    """Answers for one push consumer."""

    def __init__(self, consuming: PushConsumerCore) -> None:
        self._consuming = consuming
        self._known: dict[int, Callable[[RequestReceived], Operation[ClientReply | None]]] = {
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: self._members_changed,
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET: self._reset,
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: self._offsets,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self._consume,
        }

    def respond(self, request: RequestReceived) -> Operation[ClientReply | None]:
        """Carry out a request; None if it is not one of a consumer."""
        respond = self._known.get(request.code)
        if respond is None:
            return None
        try:
            return (yield from respond(request))
        except WireError as error:
            log.warning("request %d of the broker is not as it should be: %s", request.code, error)
            return ClientReply(ResponseCode.SYSTEM_ERROR, str(error))

    def _members_changed(self, _: RequestReceived) -> Operation[ClientReply | None]:
        self._consuming.rebalance_soon()
        yield from ()
        return ClientReply()

    def _reset(self, request: RequestReceived) -> Operation[ClientReply | None]:
        for queue, offset in decode_body(ResetOffsetBody, request.body).offset_table.items():
            log.info("%s is reset to offset %d", queue, offset)
            self._consuming.reset(Queue(queue.topic, queue.broker_name, queue.queue_id), offset)
        yield from ()
        return ClientReply()

    def _offsets(self, request: RequestReceived) -> Operation[ClientReply | None]:
        topic = decode_ext(GetConsumerStatusRequestHeader, request.ext).topic
        offsets = {
            _wire(queue): stock.offset
            for queue, stock in self._consuming.process_queues.items()
            if queue.topic == topic
        }
        yield from ()
        return ClientReply(body=encode_body(GetConsumerStatusBody(message_queue_table=offsets)))

    def _running_info(self, _: RequestReceived) -> Operation[ClientReply | None]:
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
            mq_table={_wire(queue): _state(stock) for queue, stock in consuming.process_queues.items()},
        )
        yield from ()
        return ClientReply(body=encode_body(info))

    def _consume(self, request: RequestReceived) -> Operation[ClientReply | None]:
        """Give the handler a message now, whatever the outcome."""
        fields = decode_ext(ConsumeMessageDirectlyResultRequestHeader, request.ext)
        message = decode_message(decode_record(request.body), fields.broker_name or "")
        around = self._consuming.client.runtime
        begun = around.monotonic()
        outcome = yield from self._consuming.handling.handle_now(message)
        if outcome is None:
            found = ConsumeResult.CR_SUCCESS
        else:
            found = ConsumeResult.CR_LATER if isinstance(outcome, Later) else ConsumeResult.CR_THROW_EXCEPTION
        result = ConsumeMessageDirectlyResult(
            consume_result=found,
            remark=repr(outcome) if isinstance(outcome, Exception) else None,
            spent_time_mills=int((around.monotonic() - begun) * 1000),
        )
        return ClientReply(body=encode_body(result))


def _wire(queue: Queue) -> MessageQueue:
    return MessageQueue(topic=queue.topic, broker_name=queue.broker, queue_id=queue.queue_id)


def _state(stock: ProcessQueue[Any]) -> ProcessQueueInfo:
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
