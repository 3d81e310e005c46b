"""A view of everything that a broker serves of its store: by offset, key, id and time; two views are compared.

Theory: a pull's answer is the stored bytes themselves, so two brokers that serve one store serve the same bytes. The
queries are derived from the broker (its topics, its queues' ends) and from the records that it returned, so a message
that one broker hides is missing from its view, and the comparison shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from compat_tests import remoting
from compat_tests.remoting import Answer, Connection, FrameRequest
from compat_tests.stored import Stored, records
from compat_tests.waiting import wait_until

QUERY_MESSAGE: Final = 12
QUERY_CONSUMER_OFFSET: Final = 14
GET_ALL_TOPIC_CONFIG: Final = 21
GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Final = 201
SEARCH_OFFSET_BY_TIMESTAMP: Final = 29
GET_MAX_OFFSET: Final = 30
GET_MIN_OFFSET: Final = 31
VIEW_MESSAGE_BY_ID: Final = 33

READER: Final = "store_view"  # the consumer group that pulls
_SUCCESS: Final = 0
_AT_ONCE: Final = 32
_MANY: Final = 64
_FOREVER: Final = 1 << 62

K = TypeVar("K")
V = TypeVar("V")
Queue = tuple[str, int]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The content of a store as one broker served it.

    Attributes:
        ends: First offset of each queue that has or had messages, and the offset of its next message.
        queues: The messages of each queue as pulled from its first offset on.
        by_key: The raw records that each word of a message's keys finds, and its unique key.
        by_id: The raw record at each physical offset.
        by_time: The offset that each store time found in each queue.
    """

    ends: Mapping[Queue, tuple[int, int]]
    queues: Mapping[Queue, tuple[Stored, ...]]
    by_key: Mapping[Key, tuple[bytes, ...]]
    by_id: Mapping[int, bytes]
    by_time: Mapping[tuple[Queue, int], int]

    def __iter__(self) -> Iterator[Stored]:
        """All messages in the order of the log."""
        every = (message for queue in self.queues.values() for message in queue)
        return iter(sorted(every, key=lambda message: message.physical_offset))

    def raw(self) -> dict[Queue, tuple[bytes, ...]]:
        """The stored bytes of each queue's messages."""
        return {queue: tuple(message.raw for message in found) for queue, found in self.queues.items()}

    def starts_with(self, before: View) -> bool:
        """Whether this has all of `before` with the same bytes, and more only behind it."""
        mine = self.raw()
        return all(mine[queue][: len(found)] == found for queue, found in before.raw().items())


def look(broker: str) -> View:
    """Read everything of a broker. Raises OSError when it does not answer, AssertionError when it refuses."""
    with Connection(broker) as connection:
        ends = _ends(connection)
        queues = _pull_all(connection, ends)
        every = [message for found in queues.values() for message in found]
        by_key = _by_key(connection, every)
        by_id = connection.ask_all(FrameRequest(VIEW_MESSAGE_BY_ID, {"offset": each.physical_offset}) for each in every)
        by_time = _by_time(connection, queues)
    assert not [answer for answer in by_id if answer.code != _SUCCESS]
    return View(
        ends=ends,
        queues=queues,
        by_key=by_key,
        by_id={each.physical_offset: answer.body for each, answer in zip(every, by_id, strict=True)},
        by_time=by_time,
    )


def assert_whole(view: View, *, times_up_to: int | None = None) -> None:
    """Assert that each message is found in all four ways, and that the queues have no gaps.

    Only queues of at most `times_up_to` messages need to be right by time: Apache chooses the queue's file by the time
    of its last modification, and so takes an older one at times.
    """
    for queue, found in view.queues.items():
        first, following = view.ends[queue]
        assert [message.queue_offset for message in found] == list(range(first, following)), queue
        for message in found:
            assert view.by_id[message.physical_offset] == message.raw
            unfound = [key for key in _keys(message) if message.raw not in view.by_key[key]]
            assert not unfound, f"the message at {message.physical_offset} is not found by {unfound}"
        if times_up_to is None or following <= times_up_to:
            times = [message.store_timestamp for message in found]
            wanted = {at: offset for (of, at), offset in view.by_time.items() if of == queue}
            wrong = {at: offset for at, offset in wanted.items() if offset < first or times[offset - first] != at}
            assert not wrong, f"{queue}: {wrong}"


def assert_same(view: View, before: View) -> None:
    """All that was served by offset, by key and by id is served again, with the same bytes, and nothing else."""
    assert view.ends == before.ends
    assert not _differing(view.raw(), before.raw())
    assert not _differing(view.by_key, before.by_key)
    assert not _differing(view.by_id, before.by_id)


def topic_configs(broker: str) -> dict[str, dict[str, Any]]:
    """All topics of a broker by name."""
    return _table(broker, GET_ALL_TOPIC_CONFIG, "topicConfigTable")


def group_configs(broker: str) -> dict[str, dict[str, Any]]:
    """All consumer groups of a broker by name."""
    return _table(broker, GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "subscriptionGroupTable")


def _table(broker: str, code: int, name: str) -> dict[str, dict[str, Any]]:
    with Connection(broker) as connection:
        answer = connection.ask(code)
    assert answer.code == _SUCCESS, answer
    table: dict[str, dict[str, Any]] = json.loads(answer.body)[name]
    return table


def committed(broker: str, group: str, topic: str, queues: Iterable[int]) -> list[int]:
    """The next offset that a group consumes in each of the queues."""
    fields = {"consumerGroup": group, "topic": topic}
    with Connection(broker) as connection:
        answers = connection.ask_all(
            FrameRequest(QUERY_CONSUMER_OFFSET, {**fields, "queueId": queue}) for queue in queues
        )
    return [int(answer.fields["offset"]) for answer in answers]


def pull(connection: Connection, queue: Queue, *, offset: int = 0, group: str = READER) -> Answer:
    """What a group gets from an offset of a queue on."""
    return connection.ask_all([_pull(queue, offset, group)])[0]


def messages_in(connection: Connection, queue: Queue) -> Iterator[Stored]:
    """What a queue has, from its begin to its end."""
    offset, end = 0, 1
    while offset < end:
        answer = pull(connection, queue, offset=offset)
        yield from records(answer.body)
        offset, end = int(answer.fields["nextBeginOffset"]), int(answer.fields["maxOffset"])


def loads(text: str) -> dict[str, Any]:
    """A JSON document as Apache writes it, with bare numbers as names."""
    document: dict[str, Any] = json.loads(re.sub(r"([{,]\s*)(\d+)(\s*:)", r'\1"\2"\3', text))
    return document


def _differing(ways: Mapping[K, V], former: Mapping[K, V]) -> list[K]:
    """The names under which not the same is found."""
    return [name for name in {**former, **ways} if ways.get(name) != former.get(name)]


def _ends(connection: Connection) -> dict[Queue, tuple[int, int]]:
    table = json.loads(connection.ask(GET_ALL_TOPIC_CONFIG).body)["topicConfigTable"]
    queues = [(topic, queue) for topic, config in table.items() for queue in range(config["readQueueNums"])]
    newest = _offsets(connection, GET_MAX_OFFSET, queues)
    used = [queue for queue, offset in zip(queues, newest, strict=True) if offset > 0]
    oldest = _offsets(connection, GET_MIN_OFFSET, used)
    return dict(zip(used, zip(oldest, filter(None, newest), strict=True), strict=True))


def _offsets(connection: Connection, code: int, queues: Iterable[Queue]) -> list[int]:
    answers = connection.ask_all(FrameRequest(code, {"topic": topic, "queueId": queue}) for topic, queue in queues)
    return [int(answer.fields["offset"]) for answer in answers]


def _pull_all(connection: Connection, ends: Mapping[Queue, tuple[int, int]]) -> dict[Queue, tuple[Stored, ...]]:
    found: dict[Queue, list[Stored]] = {queue: [] for queue in ends}
    following = {queue: first for queue, (first, _) in ends.items()}
    while wanted := [queue for queue, (_, end) in ends.items() if following[queue] < end]:
        answers = connection.ask_all(_pull(queue, following[queue], READER) for queue in wanted)
        for queue, answer in zip(wanted, answers, strict=True):
            assert answer.code == _SUCCESS, (queue, following[queue], answer)
            found[queue] += records(answer.body)
            following[queue] = int(answer.fields["nextBeginOffset"])
    return {queue: tuple(messages) for queue, messages in found.items()}


def _pull(queue: Queue, offset: int, group: str) -> FrameRequest:
    return remoting.pull(queue[0], group, queueId=queue[1], queueOffset=offset, maxMsgNums=_AT_ONCE)


def _keys(message: Stored) -> list[Key]:
    unique = [message.unique_key] if message.unique_key else []
    return [(message.topic, key) for key in (*unique, *message.keys)]


def _by_key(connection: Connection, messages: Iterable[Stored]) -> dict[Key, tuple[bytes, ...]]:
    """The index is written behind the log, in the log's order: once it has the last message, it has all."""
    ordered = sorted(messages, key=lambda message: message.physical_offset)
    keys = list(dict.fromkeys(key for message in ordered for key in _keys(message)))
    if keys:
        wait_until(lambda: connection.ask_all([_query(keys[-1])])[0].code == _SUCCESS, f"{keys[-1]} is not indexed")
    answers = connection.ask_all(_query(key) for key in keys)
    return {key: _bodies(answer) for key, answer in zip(keys, answers, strict=True)}


def _query(key: Key) -> FrameRequest:
    times = {"beginTimestamp": 0, "endTimestamp": _FOREVER}
    return FrameRequest(QUERY_MESSAGE, {"topic": key[0], "key": key[1], "maxNum": _MANY, **times})


def _bodies(answer: Answer) -> tuple[bytes, ...]:
    return tuple(message.raw for message in records(answer.body))


def _by_time(connection: Connection, queues: Mapping[Queue, tuple[Stored, ...]]) -> dict[tuple[Queue, int], int]:
    wanted = list(dict.fromkeys((queue, each.store_timestamp) for queue, found in queues.items() for each in found))
    answers = connection.ask_all(
        FrameRequest(SEARCH_OFFSET_BY_TIMESTAMP, {"topic": topic, "queueId": queue, "timestamp": at})
        for (topic, queue), at in wanted
    )
    return {each: int(answer.fields["offset"]) for each, answer in zip(wanted, answers, strict=True)}
