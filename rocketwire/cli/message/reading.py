"""Reading the selected messages of queues up to an end: forwards in the order of their times, or the last ones."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from rocketwire.cli.message.pulls import PULLED_AT_ONCE, TOOLS_GROUP, Queue
from rocketwire.cli.message.selection import Selection
from rocketwire.cli.mistake import Unsuccessful
from rocketwire.remoting.cluster import Cluster
from rocketwire.remoting.connection import Answer
from rocketwire.store.archive.read.selected import Selected
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageResponseHeader

Report = Callable[[str], None]
_FIRST_BLOCK: Final = 256


class Found(NamedTuple):
    """A message and the name of its broker."""

    broker: str
    one: Selected


class Pulled(NamedTuple):
    """One answer to a pull: the messages, the offset to go on at, and whether messages before that are gone."""

    messages: list[Selected]
    reached: int
    gone: bool


def queues_of(cluster: Cluster, topic: str, wanted: frozenset[int] = frozenset()) -> list[Queue]:
    """The queues of a topic that can be read; only those with the `wanted` numbers, if there are any.

    Raises:
        NoSuchTopic: there is no such topic.
        Unsuccessful: no broker has a wanted queue.
    """
    brokers = cluster.brokers_of(topic)
    found = [
        Queue(broker, brokers[broker], topic, number)
        for broker, number in cluster.readable_queues(topic)
        if broker in brokers
    ]
    numbers = sorted({queue.queue_id for queue in found})
    missing = wanted.difference(numbers)
    if missing:
        raise Unsuccessful(f"--queue {min(missing)}: topic {topic} has {_listed(numbers)}")
    if not found:
        raise Unsuccessful(f"topic {topic} has {_listed(numbers)}")
    return [queue for queue in found if not wanted or queue.queue_id in wanted]


def _listed(numbers: Sequence[int]) -> str:
    if not numbers:
        return "no queue that can be read"
    if len(numbers) == 1:
        return f"the queue {numbers[0]} only"
    return f"the queues {numbers[0]} to {numbers[-1]}"


def pulled(queue: Queue, asked: int, answer: Answer, report: Report) -> Pulled:
    """What the answer to a pull from the offset `asked` has; `report` gets a line about each damaged message.

    Raises:
        Refused: the broker refuses.
    """
    reached = decode_ext(PullMessageResponseHeader, queue.checked(answer).ext).next_begin_offset
    messages = list(queue.records(answer, report)) if answer.code == ResponseCode.SUCCESS else []
    return Pulled(messages, reached, answer.code == ResponseCode.PULL_OFFSET_MOVED and reached != asked)


def read(
    queue: Queue, offsets: range, selection: Selection, report: Report, *, group: str = TOOLS_GROUP
) -> Iterator[Selected]:
    """The selected messages with these offsets, in order; the next pull is under way while they are processed.

    Raises:
        NotReached, Refused: the broker does not answer, or refuses.
    """

    def send(offset: int) -> int:
        fields = selection.header(queue.topic, queue.queue_id, offset, group=group, most=PULLED_AT_ONCE)
        return queue.connection.send(RequestCode.PULL_MESSAGE, fields)

    offset, end = offsets.start, offsets.stop
    waiting = send(offset) if offset < end else None
    while waiting is not None:
        messages, reached, gone = pulled(queue, offset, queue.connection.answer(waiting), report)
        waiting = send(reached) if offset < reached < end else None
        if gone:
            report(f"{queue}: the messages from offset {offset} up to {min(reached, end) - 1} are gone")
        yield from (one for one in messages if one.message.queue_offset < end and selection.takes(one))
        offset = reached


def read_all(
    places: Sequence[tuple[Queue, range]], selection: Selection, report: Report, *, group: str = TOOLS_GROUP
) -> Iterator[Found]:
    """The selected messages of several queues, in the order in which they were stored, as far as queues are in order.

    Raises:
        NotReached, Refused: a broker does not answer, or refuses.
    """

    def of(queue: Queue, offsets: range) -> Iterator[Found]:
        return (Found(queue.broker, one) for one in read(queue, offsets, selection, report, group=group))

    return heapq.merge(*(of(*place) for place in places), key=_stored)


def read_last(places: Sequence[tuple[Queue, range]], count: int, selection: Selection, report: Report) -> list[Found]:
    """The last selected messages of several queues, up to `count` of all together, in the order they were stored.

    Raises:
        NotReached, Refused: a broker does not answer, or refuses.
    """
    found: list[Found] = []
    for queue, offsets in places:
        own: list[Found] = []
        end, block = offsets.stop, count if selection.is_everything else max(count, _FIRST_BLOCK)
        while end > offsets.start and len(own) < count:
            start = max(offsets.start, end - block)
            own = [Found(queue.broker, one) for one in read(queue, range(start, end), selection, report)] + own
            end, block = start, block * 2
        found += own[len(own) - count if len(own) > count else 0 :]
    found.sort(key=_stored)
    return found[-count:] if count else []


def _stored(found: Found) -> int:
    return found.one.message.store_timestamp
