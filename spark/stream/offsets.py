"""The progress of a stream: the next offset of each queue, as Spark stores it in a checkpoint.

In a checkpoint it is JSON, {broker: {topic: {queue: offset}}}; in the program one table by the three. Beside its topics
a broker may have the last message that was read of its store, as "@last": {"physical_offset": …, "store_timestamp": …,
"body_crc": …} (`last_read`); no topic has an "@". Checkpoints of before have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

from rocketwire.spark.errors import OptionInvalid
from rocketwire.wire.java import INT32_MAX, parse_natural_number


class BrokerQueue(NamedTuple):
    """A queue of a topic at a broker."""

    broker: str
    topic: str
    queue_id: int

    def __str__(self) -> str:
        return f"broker {self.broker}, topic {self.topic}, queue {self.queue_id}"


class LastRead(NamedTuple):
    """What identifies a message, also among those of other stores: its physical offset, store time (ms), body's CRC."""

    physical_offset: int
    store_timestamp: int
    body_crc: int


#: Of each queue the offset of its next message.
Offsets = dict[BrokerQueue, int]
#: Of each queue the offsets from the first up to, not including, the end.
Ranges = dict[BrokerQueue, tuple[int, int]]
Nested = dict[str, dict[str, dict[str, int]]]
_Key = TypeVar("_Key")
_LAST: Final = "@last"
_REMEDY: Final = "It is that of another source, or damaged; begin with a new checkpointLocation"


def nested(offsets: Offsets, last: Mapping[str, LastRead] | None = None) -> Nested:
    """Offsets, and the last message read of each broker, in canonical form: equal ones give equal JSON."""
    marks = {} if last is None else last
    found: dict[str, dict[str, dict[int, int]]] = {}
    for (broker, topic, queue_id), offset in offsets.items():
        found.setdefault(broker, {}).setdefault(topic, {})[queue_id] = offset
    return {
        broker: ({_LAST: marks[broker]._asdict()} if broker in marks else {})
        | {
            topic: {str(queue_id): queues[queue_id] for queue_id in sorted(queues)}
            for topic, queues in sorted(topics.items())
        }
        for broker, topics in sorted(found.items())
    }


def parse_offsets(kept: object) -> Offsets:
    """Parse offsets of a checkpoint.

    Raises:
        OptionInvalid: these are none.
    """
    try:
        return {
            BrokerQueue(broker, topic, _number(queue_id)): _offset(offset)
            for broker, topics in _table(kept)
            for topic, queues in _table(topics)
            if topic != _LAST
            for queue_id, offset in _table(queues)
        }
    except (TypeError, ValueError) as error:
        raise OptionInvalid(f"the checkpoint's offsets cannot be read: {error}", _REMEDY) from error


def last_read(kept: object) -> dict[str, LastRead]:
    """Parse the last message that was read of each broker; checkpoints of before, and of endpoints, have none.

    Raises:
        OptionInvalid: it is none.
    """
    try:
        marks = {broker: dict(_table(topics)).get(_LAST) for broker, topics in _table(kept)}
        return {broker: _message(mark) for broker, mark in marks.items() if mark is not None}
    except (TypeError, ValueError) as error:
        raise OptionInvalid(f"the checkpoint's offsets cannot be read: {error}", _REMEDY) from error


def shares(backlogs: Mapping[_Key, int], most: int) -> dict[_Key, int]:
    """Divide `most` among backlogs: in proportion, as whole numbers that add up to `most`.

    Everything if it fits. The remainder of rounding goes to those that would get nothing, so that none waits without
    end, and then to the largest.
    """
    total = sum(backlogs.values())
    if total <= most:
        return dict(backlogs)
    found = {key: backlog * most // total for key, backlog in backlogs.items()}
    left = most - sum(found.values())
    waiting = [key for key, backlog in backlogs.items() if backlog]
    for key in sorted(waiting, key=lambda key: (found[key] > 0, -backlogs[key]))[:left]:
        found[key] += 1
    return found


def _table(value: object) -> list[tuple[str, object]]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no table")
    return list(value.items())


def _message(value: object) -> LastRead:
    found = dict(_table(value))
    numbers = [found.get(name) for name in LastRead._fields]
    if len(found) != len(numbers) or not all(type(number) is int for number in numbers):
        raise ValueError(f"{value!r} is no message")
    return LastRead(**found)  # type: ignore[arg-type] # whole numbers, as was just checked


def _number(text: str) -> int:
    number = parse_natural_number(text, INT32_MAX)
    if number is None:
        raise ValueError(f"{text!r} is no queue")
    return number


def _offset(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no offset")
    return value
