"""Traffic of the store's tests: many messages of every kind, and load until a broker is killed.

Theory: each message has a unique key, made from a name that the caller gives; so a test knows what was acknowledged,
where it must be stored, and that it is not stored twice.
"""

from __future__ import annotations

import hashlib
import json
import struct
import threading
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compat_tests.remoting import Answer, Connection, FrameRequest, send
from compat_tests.store_view import GET_MAX_OFFSET, Queue, View
from compat_tests.stored import Stored
from compat_tests.waiting import wait_until
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.names import AUTO_CREATE_TOPIC, SCHEDULE_TOPIC

UPDATE_CONSUMER_OFFSET: Final = 15
UPDATE_AND_CREATE_TOPIC: Final = 17
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: Final = 200
SEND_MESSAGE_V2: Final = 310
SEND_BATCH_MESSAGE: Final = 320

BATCH: Final = 5  # messages in a batch
COMPRESSED: Final = 1  # sysFlag
_STORED: Final = frozenset({0, 10, 11, 12})  # 10 to 12: stored, but not (yet) on the disk or on a slave
_BATCHED: Final = struct.Struct(">iiiii")  # a message in a batch: size, magic, CRC, flag, length of the body
_LARGE: Final = 60_000
_DISPATCHED_WITHIN: Final = 120.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message and where the broker stored it, by its answer."""

    queue: Queue
    queue_offset: int
    unique_key: str
    body: bytes


@dataclass(slots=True, kw_only=True)
class _Message:
    queue: Queue
    unique_key: str
    body: bytes
    sys_flag: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        pairs = {**self.properties, property_names.UNIQ_KEY: self.unique_key, property_names.WAIT: "true"}
        return "".join(f"{name}\x01{value}\x02" for name, value in pairs.items())


def create_topic(connection: Connection, topic: str, queues: int, *, attributes: str = "") -> None:
    """Make a topic that can be read and written; 5.x takes attributes."""
    fields: dict[str, str | int] = {"topic": topic, "defaultTopic": AUTO_CREATE_TOPIC, "perm": 6, "order": "false"}
    fields |= {"readQueueNums": queues, "writeQueueNums": queues, "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0}
    if attributes:
        fields["attributes"] = attributes
    answer = connection.ask(UPDATE_AND_CREATE_TOPIC, fields)
    assert answer.code == 0, answer


def create_group(connection: Connection, group: str, retries: int) -> None:
    """Make a consumer group, or change how often its messages are tried again."""
    body = json.dumps({"groupName": group, "retryMaxTimes": retries}).encode()
    answer = connection.ask(UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)
    assert answer.code == 0, answer


def commit(connection: Connection, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit a group's next offset of each queue, singly, for Apache may lose one of two first ones at a time."""
    for queue, offset in offsets.items():
        fields: dict[str, str | int] = {"consumerGroup": group, "topic": topic, "queueId": queue}
        fields["commitOffset"] = offset
        answer = connection.ask(UPDATE_CONSUMER_OFFSET, fields)
        assert answer.code == 0, answer


def send_all_kinds(connection: Connection, topic: str, name: str, *, queues: int, count: int) -> list[Sent]:
    """Send so many messages of all kinds over the topic's queues, and a batch to each queue. All must be taken."""
    messages = [_kind(topic, f"{name}-{number}", number, queues) for number in range(count)]
    answers = connection.ask_all(_single(message) for message in messages)
    sent = [_sent(message, answer) for message, answer in zip(messages, answers, strict=True)]
    for queue in range(queues):
        batch = [_kind(topic, f"{name}-batch-{queue}-{i}", 3, queues, queue=queue) for i in range(BATCH)]
        answer = connection.ask_all([_batch(batch)])[0]
        first = _sent(batch[0], answer).queue_offset
        sent += [
            Sent(queue=each.queue, queue_offset=first + i, unique_key=each.unique_key, body=each.body)
            for i, each in enumerate(batch)
        ]
    for queue in range(queues):
        _wait_for(connection, (topic, queue), max(each.queue_offset for each in sent if each.queue[1] == queue))
    return sent


def send_delayed(connection: Connection, topic: str, name: str, level: int) -> str:
    """Send a message with a delay level to queue 0; its unique key."""
    properties = {property_names.DELAY: str(level), property_names.KEYS: f"{name}-key"}
    message = _Message(queue=(topic, 0), unique_key=name, body=name.encode(), properties=properties)
    answer = connection.ask_all([_single(message)])[0]
    assert answer.code == 0, answer
    _wait_for(connection, (SCHEDULE_TOPIC, level - 1), int(answer.fields["queueOffset"]))
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """A message that was taken to be delivered later."""

    unique_key: str
    level: int


def send_many_delayed(
    connection: Connection, topic: str, name: str, *, levels: Sequence[int], count: int
) -> list[Delayed]:
    """Send so many messages to queue 0 with each of the levels; unique keys end with the level."""
    sent = [
        Delayed(unique_key=f"{name}-{number}-{levels[number % len(levels)]}", level=levels[number % len(levels)])
        for number in range(count)
    ]
    requests = [
        _single(
            _Message(
                queue=(topic, 0),
                unique_key=each.unique_key,
                body=each.unique_key.encode(),
                properties={property_names.DELAY: str(each.level)},
            )
        )
        for each in sent
    ]
    answers = connection.ask_all(requests)
    assert {answer.code for answer in answers} == {0}
    return sent


def send_timed(connection: Connection, topic: str, messages: Mapping[str, Mapping[str, str]]) -> list[Answer]:
    """Send messages to queue 0, by unique key the properties with the due time of each, or others."""
    return connection.ask_all(
        _single(_Message(queue=(topic, 0), unique_key=name, body=name.encode(), properties=properties))
        for name, properties in messages.items()
    )


def _wait_for(connection: Connection, queue: Queue, offset: int) -> None:
    """Return once the queue has the message: Apache's broker fills its queues behind the log."""
    wait_until(
        lambda: int(connection.ask(GET_MAX_OFFSET, {"topic": queue[0], "queueId": queue[1]}).fields["offset"]) > offset,
        f"{queue} does not get its message {offset}",
        within=_DISPATCHED_WITHIN,
    )


def _kind(topic: str, name: str, number: int, queues: int, *, queue: int | None = None) -> _Message:
    place = (topic, number % queues if queue is None else queue)
    noise = hashlib.sha256(name.encode()).digest()
    body, sys_flag, properties = name.encode(), 0, {property_names.TAGS: f"Tag{number % 3}"}
    match number % 8:
        case 0:
            properties = {
                property_names.KEYS: f"{name}-a {name}-b 键{name}",
                property_names.TAGS: "标签",
                "属性": "值 " * 20,
            }
        case 1:
            body, properties = noise[:1], {}
        case 2:
            body, sys_flag = zlib.compress(name.encode() * 200), COMPRESSED
        case 4:
            body = noise * 100
            properties |= {f"p{i}": "x" * i for i in range(1, 40)}
        case 5 if number % 40 == 5:
            body = noise * (_LARGE // len(noise))
    return _Message(queue=place, unique_key=name, body=body, sys_flag=sys_flag, properties=properties)


def _single(message: _Message) -> FrameRequest:
    return FrameRequest(SEND_MESSAGE_V2, _fields(message, properties=message.text(), batch=False), message.body)


def _batch(messages: Iterable[_Message]) -> FrameRequest:
    parts, last = [], None
    for last in messages:
        text = last.text().encode()
        size = _BATCHED.size + len(last.body) + 2 + len(text)
        parts += [_BATCHED.pack(size, 0, 0, 0, len(last.body)), last.body, struct.pack(">h", len(text)), text]
    assert last is not None
    return FrameRequest(SEND_BATCH_MESSAGE, _fields(last, properties="", batch=True), b"".join(parts))


def _fields(message: _Message, *, properties: str, batch: bool) -> Mapping[str, str | int]:
    """A send's header."""
    topic, queue = message.queue
    changes: dict[str, Any] = {
        "f": message.sys_flag,
        "g": time.time_ns() // 1_000_000,
        "h": 7,
        "l": 16,
        "m": str(batch).lower(),
    }
    return send(topic, properties=properties, queue=queue, **changes).fields


def _sent(message: _Message, answer: Answer) -> Sent:
    assert answer.code in _STORED, answer
    assert int(answer.fields["queueId"]) == message.queue[1]
    offset = int(answer.fields["queueOffset"])
    return Sent(queue=message.queue, queue_offset=offset, unique_key=message.unique_key, body=message.body)


class Load:
    """Producers, one a queue, that send for as long as the broker answers; `join` gives what was acknowledged.

    `pause`: seconds between a producer's sends.
    """

    def __init__(self, broker: str, topic: str, name: str, *, queues: int, pause: float = 0.0) -> None:
        self._broker = broker
        self._pause = pause
        self._acknowledged: list[list[Sent]] = [[] for _ in range(queues)]
        self._threads = [
            threading.Thread(target=self._send, args=((topic, queue), f"{name}-{queue}", acknowledged), daemon=True)
            for queue, acknowledged in enumerate(self._acknowledged)
        ]
        for thread in self._threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        """Return once so many are acknowledged."""
        wait_until(lambda: sum(map(len, self._acknowledged)) >= count)

    def join(self) -> list[Sent]:
        """Everything acknowledged, once the broker has ended."""
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive(), "the broker still answers"
        return [sent for acknowledged in self._acknowledged for sent in acknowledged]

    def _send(self, queue: Queue, name: str, acknowledged: list[Sent]) -> None:
        number = 0
        try:
            with Connection(self._broker) as connection:
                while True:
                    messages = [
                        _kind(queue[0], f"{name}-{number + i}", number + i, 1, queue=queue[1]) for i in (0, 1, 2)
                    ]
                    number += len(messages)
                    answers = connection.ask_all(map(_single, messages))
                    acknowledged += [_sent(each, answer) for each, answer in zip(messages, answers, strict=True)]
                    time.sleep(self._pause)
        except OSError:
            return  # the broker has ended


def assert_there(view: View, sent: Iterable[Sent]) -> None:
    """Assert that each is stored at the place in the answer, as sent, and no unique key is in its topic twice."""
    lost = [each for each in sent if not _is(_at(view, each), each)]
    assert not lost, f"{len(lost)} are lost or elsewhere: {lost[:2]}"
    keys = [(message.topic, message.unique_key) for message in view if message.unique_key]
    assert len(keys) == len(set(keys))


def _at(view: View, sent: Sent) -> Stored | None:
    first, following = view.ends.get(sent.queue, (0, 0))
    if not first <= sent.queue_offset < following:
        return None
    return view.queues[sent.queue][sent.queue_offset - first]


def _is(found: Stored | None, sent: Sent) -> bool:
    return found is not None and (found.unique_key, found.body) == (sent.unique_key, sent.body)
