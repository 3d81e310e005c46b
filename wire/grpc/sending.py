"""What a SendMessage call is as a send of the remoting protocol.

A message's system properties become properties of RocketMQ; the text has them in the order in which Apache's proxy
writes them, that of Java's hash table. The bodies of a batch go in one, each with its own properties, and the header of
a batch has none: they would be stored with each of its messages, and its UNIQ_KEY would be the id of them all, as it is
behind Apache's proxy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rocketwire.wire import names
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.properties import BORN_HOST, BORN_TIMESTAMP, KEY_SEP, PRIORITY, RESERVED_NAMES, TRACE_CONTEXT
from rocketwire.wire.grpc import checks, definition_pb2, service_pb2
from rocketwire.wire.grpc.checks import CallLimits
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.message_types import FIFO, NORMAL, type_of
from rocketwire.wire.grpc.times import duration_ms, timestamp_ms
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.java import hash_map_order

_DEFAULT_QUEUES: Final = 4
_MS_OF_SECOND: Final = 1000
_NO_FLAG: Final = 0
#: The types whose messages a batch takes: those of others are delivered singly.
_BATCHED: Final = frozenset({NORMAL, FIFO})


class Send(NamedTuple):
    """A send.

    Attributes:
        topic: Of all its messages; also the producer group, as behind Apache's proxy.
        message_type: `NORMAL`, `FIFO`, `DELAY`, `TRANSACTION` or `PRIORITY`: what the topic must take.
        message_group: Whose queue the message goes to, by `queue_choice.queue_of_group`; empty: any queue.
        message_ids: The unique key of each message.
        sys_flag: 1 for a compressed body, 4 for a half message.
        properties: The property text of the header.
        body: Of the message, or the batch.
        born_timestamp: In ms since 1970.
        reconsume_times: Of a message to a retry topic.
        batch: Whether it is a batch.
    """

    topic: str
    message_type: str
    message_group: str
    message_ids: tuple[str, ...]
    sys_flag: int
    properties: str
    body: bytes
    born_timestamp: int
    reconsume_times: int
    batch: bool

    def fields(self, queue_id: int) -> SendMessageRequestHeader:
        """The header fields of the send; a negative queue lets the broker choose one."""
        return SendMessageRequestHeader(
            producer_group=self.topic,
            topic=self.topic,
            default_topic=names.AUTO_CREATE_TOPIC,
            default_topic_queue_nums=_DEFAULT_QUEUES,
            queue_id=queue_id,
            sys_flag=self.sys_flag,
            born_timestamp=self.born_timestamp,
            flag=_NO_FLAG,
            properties=self.properties,
            reconsume_times=self.reconsume_times,
            batch=self.batch,
        )


def read_send(request: service_pb2.SendMessageRequest, limits: CallLimits, *, remote: str, now: int) -> Send:
    """Check a call and translate it.

    Args:
        request: The call.
        limits: How large it may be.
        remote: The client's address, for messages without a born host.
        now: In ms since 1970.

    Raises:
        CallInvalid: something of it is wrong; the code has the kind.
    """
    messages = request.messages
    if not messages:
        raise CallInvalid(Code.MESSAGE_CORRUPTED, "no message to send")
    first = messages[0]
    topic = first.topic.name
    checks.check_topic(topic)
    if len(messages) == 1:
        return _single(first, topic, limits, remote, now)
    if any(message.topic != first.topic for message in messages):
        raise CallInvalid(Code.MESSAGE_CORRUPTED, "topic in message is not same")
    sends = [_single(message, topic, limits, remote, now) for message in messages]
    _check_batch(sends)
    items = [BatchItem(_NO_FLAG, send.body, send.properties.encode()) for send in sends]
    return sends[0]._replace(
        message_ids=tuple(send.message_ids[0] for send in sends),
        properties="",
        body=encode_batch(items),
        batch=True,
    )


def _check_batch(sends: Sequence[Send]) -> None:
    """A batch is stored in one queue, under one sysFlag: its messages must agree on both.

    Raises:
        CallInvalid: they do not, or a message is of a type that a batch does not take.
    """
    first = sends[0]
    for send in sends:
        if send.message_type not in _BATCHED:
            raise CallInvalid(Code.BAD_REQUEST, f"a batch takes no message of type {send.message_type}")
        if send.message_group != first.message_group:
            raise CallInvalid(Code.BAD_REQUEST, "the messages of a batch must have the same message group, or none")
        if send.sys_flag != first.sys_flag:
            raise CallInvalid(Code.BAD_REQUEST, "the bodies of a batch must have the same encoding")


def _single(message: definition_pb2.Message, topic: str, limits: CallLimits, remote: str, now: int) -> Send:
    body = message.body
    if not body:
        raise CallInvalid(Code.MESSAGE_BODY_EMPTY, "message body cannot be empty")
    if 0 < limits.body_bytes < len(body):
        raise CallInvalid(Code.MESSAGE_BODY_TOO_LARGE, f"message body cannot exceed the max {limits.body_bytes}")
    system = message.system_properties
    message_id = system.message_id
    user, tag, keys = message.user_properties, system.tag, system.keys
    properties = _user_properties(user, tag, keys, limits) if user or tag or keys else {property_names.TAGS: ""}
    checks.check_message_id(message_id)
    properties[property_names.UNIQ_KEY] = message_id
    sys_flag = SysFlag.COMPRESSED if system.body_encoding == definition_pb2.GZIP else 0
    transactional = system.message_type == definition_pb2.TRANSACTION
    if transactional:
        sys_flag |= SysFlag.TRANSACTION_PREPARED
        properties[property_names.TRANSACTION_PREPARED] = "true"
        _put_recovery(properties, system, limits)
    # A transaction has no delay: Apache's broker would deliver the half message into the half topic at that time.
    if system.HasField("delivery_timestamp") and not transactional:
        deliver = timestamp_ms(system.delivery_timestamp)
        if 0 < limits.delay_ms < deliver - now:
            raise CallInvalid(
                Code.ILLEGAL_DELIVERY_TIME, f"the max delay time of message is too large, max is {limits.delay_ms}"
            )
        properties[property_names.TIMER_DELIVER_MS] = str(deliver)
    if system.HasField("priority"):
        properties[PRIORITY] = str(system.priority)
    attempt = system.delivery_attempt
    properties[property_names.RECONSUME_TIME] = str(attempt)
    properties[property_names.PRODUCER_GROUP] = topic
    group = system.message_group
    if group:
        checks.check_message_group(group, limits)
        properties[property_names.SHARDING_KEY] = group
    if system.lite_topic:
        raise CallInvalid(Code.UNSUPPORTED, "lite topics are not supported")
    _put_origin(properties, system.trace_context, system.born_host, remote)
    born = timestamp_ms(system.born_timestamp) if system.HasField("born_timestamp") else now
    properties[BORN_TIMESTAMP] = str(born)
    return Send(
        topic,
        type_of(properties),
        group,
        (message_id,),
        sys_flag,
        _text(properties),
        body,
        born,
        attempt if topic.startswith(names.RETRY_PREFIX) else 0,
        batch=False,
    )


def _user_properties(user: Mapping[str, str], tag: str, keys: Sequence[str], limits: CallLimits) -> dict[str, str]:
    """The user properties, tag and keys, as properties."""
    properties: dict[str, str] = {}
    size = 0
    if user:
        if 0 < limits.user_properties < len(user):
            raise CallInvalid(
                Code.MESSAGE_PROPERTIES_TOO_LARGE, f"too many user properties, max is {limits.user_properties}"
            )
        properties.update(sorted(user.items()))
        _check_user_properties(properties)
        size = len("".join((*properties, *properties.values())).encode())
    properties[property_names.TAGS] = tag
    if tag:
        checks.check_tag(tag)
        size += len(tag.encode())
    if keys:
        for key in keys:
            checks.check_key(key)
            size += len(key.encode())
        properties[property_names.KEYS] = KEY_SEP.join(filter(None, keys))
    if 0 < limits.property_bytes < size:
        raise CallInvalid(
            Code.MESSAGE_PROPERTIES_TOO_LARGE,
            f"the total size of user property is too large, max is {limits.property_bytes}",
        )
    return properties


def _check_user_properties(properties: dict[str, str]) -> None:
    if not RESERVED_NAMES.isdisjoint(properties):
        name = next(name for name in properties if name in RESERVED_NAMES)
        raise CallInvalid(Code.ILLEGAL_MESSAGE_PROPERTY_KEY, f"property is used by system: {name}")
    if checks.has_control_characters("".join((*properties, *properties.values()))):
        raise CallInvalid(Code.ILLEGAL_MESSAGE_PROPERTY_KEY, "a property cannot contain control characters")


def _put_recovery(properties: dict[str, str], system: definition_pb2.SystemProperties, limits: CallLimits) -> None:
    if system.HasField("orphaned_transaction_recovery_duration"):
        seconds = duration_ms(system.orphaned_transaction_recovery_duration) // _MS_OF_SECOND
        if 0 < limits.recovery_seconds < seconds:
            raise CallInvalid(
                Code.BAD_REQUEST,
                f"the max transaction recovery time of message is too large, max is {limits.recovery_seconds}",
            )
        properties[property_names.CHECK_IMMUNITY_TIME_IN_SECONDS] = str(seconds)


def _put_origin(properties: dict[str, str], trace: str, host: str, remote: str) -> None:
    if checks.has_control_characters(trace + host):
        raise CallInvalid(Code.BAD_REQUEST, "trace context and born host cannot contain control characters")
    if trace:
        properties[TRACE_CONTEXT] = trace
    properties[BORN_HOST] = host if host.strip() else remote


def _text(properties: dict[str, str]) -> str:
    """The property text; items without a name or value, which all readers skip, are omitted."""
    return "".join(
        [f"{name}\x01{value}\x02" for name in hash_map_order(properties) if name and (value := properties[name])]
    )
