"""Reading the selected messages of queues up to an end: forwards in the order of their times, or the last ones."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.message.pulls import PULLED_AT_ONCE, TOOLS_GROUP, PulledQueueMessages
from rocketwire.cli.message.selection import MessageSelection
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import Response
from rocketwire.store.offline.read.selected import SelectedMessage
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageResponseHeader

Report = Callable[[str], None]
_FIRST_BLOCK: Final = 256


class BrokerMessage(NamedTuple):
    """A message and the name of its broker."""

    broker: str
    one: SelectedMessage


class PulledRange(NamedTuple):
    """One answer to a pull: the messages, the offset to go on at, and whether messages before that are gone."""

    messages: list[SelectedMessage]
    reached: int
    gone: bool


def queues_of(cluster: BlockingCluster, topic: str, wanted: frozenset[int] = frozenset()) -> list[PulledQueueMessages]:
    """The queues of a topic that can be read; only those with the `wanted` numbers, if there are any.

    Raises:
        NoSuchTopic: there is no such topic.
        Unsuccessful: no broker has a wanted queue.
    """
    brokers = cluster.brokers_of(topic)
    found = [
        PulledQueueMessages(broker, brokers[broker], topic, number)
        for broker, number in cluster.readable_queues(topic)
        if broker in brokers
    ]
    numbers = sorted({queue.queue_id for queue in found})
    missing = wanted.difference(numbers)
    if missing:
        raise CommandFailed(f"--queue {min(missing)}: topic {topic} has {_listed(numbers)}")
    if not found:
        raise CommandFailed(f"topic {topic} has {_listed(numbers)}")
    return [queue for queue in found if not wanted or queue.queue_id in wanted]


def _listed(numbers: Sequence[int]) -> str:
    if not numbers:
        return "no queue that can be read"
    if len(numbers) == 1:
        return f"the queue {numbers[0]} only"
    return f"the queues {numbers[0]} to {numbers[-1]}"


def pulled(queue: PulledQueueMessages, asked: int, answer: Response, report: Report) -> PulledRange:
    """What the answer to a pull from the offset `asked` has; `report` gets a line about each damaged message.

    Raises:
        Refused: the broker refuses.
    """
    reached = decode_ext(PullMessageResponseHeader, queue.checked(answer).ext).next_begin_offset
    messages = list(queue.records(answer, report)) if answer.code == ResponseCode.SUCCESS else []
    return PulledRange(messages, reached, answer.code == ResponseCode.PULL_OFFSET_MOVED and reached != asked)


def read(
    queue: PulledQueueMessages, offsets: range, selection: MessageSelection, report: Report, *, group: str = TOOLS_GROUP
) -> Iterator[SelectedMessage]:
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
    places: Sequence[tuple[PulledQueueMessages, range]],
    selection: MessageSelection,
    report: Report,
    *,
    group: str = TOOLS_GROUP,
) -> Iterator[BrokerMessage]:
    """The selected messages of several queues, in the order in which they were stored, as far as queues are in order.

    Raises:
        NotReached, Refused: a broker does not answer, or refuses.
    """

    def of(queue: PulledQueueMessages, offsets: range) -> Iterator[BrokerMessage]:
        return (BrokerMessage(queue.broker, one) for one in read(queue, offsets, selection, report, group=group))

    return heapq.merge(*(of(*place) for place in places), key=_stored)


def read_last(
    places: Sequence[tuple[PulledQueueMessages, range]], count: int, selection: MessageSelection, report: Report
) -> list[BrokerMessage]:
    """The last selected messages of several queues, up to `count` of all together, in the order they were stored.

    Raises:
        NotReached, Refused: a broker does not answer, or refuses.
    """
    found: list[BrokerMessage] = []
    for queue, offsets in places:
        own: list[BrokerMessage] = []
        end, block = offsets.stop, count if selection.is_everything else max(count, _FIRST_BLOCK)
        while end > offsets.start and len(own) < count:
            start = max(offsets.start, end - block)
            own = [BrokerMessage(queue.broker, one) for one in read(queue, range(start, end), selection, report)] + own
            end, block = start, block * 2
        found += own[len(own) - count if len(own) > count else 0 :]
    found.sort(key=_stored)
    return found[-count:] if count else []


def _stored(found: BrokerMessage) -> int:
    return found.one.message.store_timestamp
