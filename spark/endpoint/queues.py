"""Queues of an endpoint: their names, their offsets, and the offset of a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection, Response
from rocketwire.remoting.errors import NoSuchTopic
from rocketwire.remoting.requests import pull_header
from rocketwire.spark.errors import OptionInvalid, TopicUnknown
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.stream.offsets import BrokerQueue, Offsets, Ranges
from rocketwire.store.records.walk import walk
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.offset import (
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
)
from rocketwire.wire.headers.pull import PullMessageRequestHeader

EMPTY_RANGE: Final = frozenset(
    {ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY, ResponseCode.PULL_OFFSET_MOVED}
)
"""Codes of answers that mean that there is no message at the offset."""
#: For the mean size of messages: queues sampled, messages pulled of each, and the size assumed without a sample.
_SAMPLED: Final = 8
_SAMPLE: Final = 32
_USUAL_SIZE: Final = 1024


def requested_queues(cluster: BlockingCluster, request: ReadRequest) -> list[BrokerQueue]:
    """The queues that a request selects, in order.

    Raises:
        TopicUnknown: a topic or a queue that options name does not exist.
        RemotingError: the name server does not answer, or refuses.
    """
    named = request.options.topics
    found: list[BrokerQueue] = []
    for topic in named or cluster.topics():
        if request.takes_topic(topic) or topic in named:
            try:
                found += (BrokerQueue(broker, topic, number) for broker, number in cluster.readable_queues(topic))
            except NoSuchTopic:
                # A topic that is not named may be deleted meanwhile.
                if topic in named:
                    raise
    numbers = {queue.queue_id for queue in found}
    missing = sorted((request.options.queues or frozenset()) - numbers)
    if missing and named:
        raise TopicUnknown(
            f"{', '.join(named)}: there is no queue {missing[0]} that can be read", "Check the option queues"
        )
    queues = request.queues
    return sorted(
        queue for queue in found if request.takes_topic(queue.topic) and (queues is None or queue.queue_id in queues)
    )


def check_offsets(request: ReadRequest, queues: Iterable[BrokerQueue]) -> None:
    """Refuse offsets of queues that do not exist; those of topics that are not read are ignored.

    Raises:
        OptionInvalid: there are such offsets.
    """
    there = set(queues) | {queue._replace(broker="") for queue in queues}
    options = request.options
    for option, requested in (("startingOffsets", options.starting_offsets), ("endingOffsets", options.ending_offsets)):
        for broker, topics in requested.items() if isinstance(requested, dict) else ():
            for topic, queue_id in ((topic, number) for topic, numbers in topics.items() for number in numbers):
                read = request.takes_topic(topic) and (request.queues is None or queue_id in request.queues)
                if read and (broker or "", topic, queue_id) not in there:
                    known = ", ".join(sorted({queue.broker for queue in queues}))
                    where = "" if broker is None else f" of broker {broker}"
                    raise OptionInvalid(
                        f"option {option} names queue {queue_id} of topic {topic}{where}, which is not there",
                        f"Queues that can be read are at {known or 'no broker'}",
                    )


def bounds(cluster: BlockingCluster, queues: Iterable[BrokerQueue]) -> Ranges:
    """From the oldest message of each queue up to where its next one will be.

    Raises:
        RemotingError: a broker does not answer, or refuses.
    """
    found: Ranges = {}
    for connection, mine in _by_broker(cluster, queues):
        least = connection.ask_all(
            RequestCode.GET_MIN_OFFSET,
            (GetMinOffsetRequestHeader(topic=each.topic, queue_id=each.queue_id) for each in mine),
        )
        starts = [max(0, int(answer.ext["offset"])) for answer in least]
        most = connection.ask_all(
            RequestCode.GET_MAX_OFFSET,
            (GetMaxOffsetRequestHeader(topic=each.topic, queue_id=each.queue_id) for each in mine),
        )
        for queue, start, answer in zip(mine, starts, most, strict=True):
            found[queue] = start, max(start, int(answer.ext["offset"]))
    return found


def at_time(cluster: BlockingCluster, ranges: Ranges, time: int, *, group: str) -> Offsets:
    """The offset of the first message of each queue that was stored at a time (ms) or later; the end if there is none.

    The message is found by bisection: brokers answer a search by time differently, and some return any of several
    messages of that time.

    Raises:
        RemotingError: a broker does not answer, or refuses.
    """
    found = {queue: end for queue, (_, end) in ranges.items()}
    for connection, mine in _by_broker(cluster, ranges):
        open_ranges = {queue: ranges[queue] for queue in mine}
        # All queues are bisected in parallel: each step is one round trip to the broker.
        while open_ranges := {queue: (low, high) for queue, (low, high) in open_ranges.items() if low < high}:
            middles = {queue: (low + high) // 2 for queue, (low, high) in open_ranges.items()}
            pulls = (pull(queue, middle, 1, group) for queue, middle in middles.items())
            answers = connection.ask_all(RequestCode.PULL_MESSAGE, pulls, fine=(0, *EMPTY_RANGE))
            for (queue, middle), answer in zip(middles.items(), answers, strict=True):
                stored = _store_time(answer)
                low, high = open_ranges[queue]
                # A missing or damaged message counts as stored before.
                open_ranges[queue] = (middle + 1, high) if stored is None or stored < time else (low, middle)
                found[queue] = open_ranges[queue][1]
    return found


def _store_time(answer: Response) -> int | None:
    """When the first message of an answer was stored; None when there is none, or it is damaged."""
    body = answer.body if answer.code == ResponseCode.SUCCESS else b""
    times = walk(body, base=None, whole=False, check_crc=False, most=1).records.store_timestamp
    return int(times[0]) if len(times) else None


def mean_size(cluster: BlockingCluster, ranges: Ranges, *, group: str) -> int:
    """Bytes that a message of these ranges takes, as some of the longest ranges have them at their beginning.

    Raises:
        RemotingError: a broker does not answer, or refuses.
    """
    filled = [queue for queue, (first, end) in ranges.items() if first < end]
    longest = sorted(filled, key=lambda queue: ranges[queue][0] - ranges[queue][1])[:_SAMPLED]
    size = count = 0
    for connection, mine in _by_broker(cluster, longest):
        pulls = (pull(queue, ranges[queue][0], _SAMPLE, group) for queue in mine)
        for answer in connection.ask_all(RequestCode.PULL_MESSAGE, pulls, fine=(0, *EMPTY_RANGE)):
            body = answer.body
            if answer.code == ResponseCode.SUCCESS:
                size += len(body)
                count += len(walk(body, base=None, whole=False, check_crc=False, most=_SAMPLE).records.position)
    return max(1, size // count) if count else _USUAL_SIZE


def pull(queue: BrokerQueue, offset: int, most: int, group: str) -> PullMessageRequestHeader:
    """The pull request for messages of a queue from an offset on. It does not wait, and commits nothing."""
    return pull_header(queue.topic, queue.queue_id, offset, most=most, group=group)


def _by_broker(
    cluster: BlockingCluster, queues: Iterable[BrokerQueue]
) -> Iterator[tuple[BlockingConnection, list[BrokerQueue]]]:
    by_broker: Mapping[str, list[BrokerQueue]] = defaultdict(list)
    for queue in queues:
        by_broker[queue.broker].append(queue)
    for broker, mine in by_broker.items():
        yield cluster.broker(broker), mine
