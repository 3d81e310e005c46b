"""The broker's topics: built-in ones, those created by sends and consumers, and those of administrators.

Every change is saved to config/topics.json at once and passed to `changed`, so that the name server has the route
before the client requests it. Names are checked when a topic is entered, so that a send to an existing topic need not
check the name again.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import NameInvalid, QueuesTooMany, TopicBeingDeleted
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.message_types import MessageType, accepted_type
from rocketwire.server.topics.topic_limit import TopicLimit
from rocketwire.store.event import Event
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.errors import HeaderFieldMissing
from rocketwire.wire.facts.codes import Permission
from rocketwire.wire.headers.send import SendMessageRequestHeader

log = logging.getLogger(__name__)

READ_WRITE: Final = Permission.READ | Permission.WRITE
_PARTICULAR: Final = (names.RETRY_PREFIX, names.REVIVE_TOPIC_PREFIX)
_ALL: Final = READ_WRITE | Permission.INHERIT
MOST_QUEUES: Final = 16_384
"""The most queues that an administrator may give a topic or a group's retry topic: requests about all of them then take
a third of a second."""
_BENCHMARK_QUEUES: Final = 1024
_CLUSTER_TOPIC_QUEUES: Final = 16


def system_topics(broker: BrokerKeys, keys: TopicKeys, delay_levels: int) -> list[TopicConfig]:
    """The topics that a 4.9.7 broker creates at its start."""

    def topic(name: str, queues: int, perm: int = READ_WRITE) -> TopicConfig:
        return TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm)

    cluster_perm = _ALL if keys.cluster_topic_enable else Permission.INHERIT
    broker_perm = _ALL if keys.broker_topic_enable else Permission.INHERIT
    made = [
        topic(names.SELF_TEST_TOPIC, 1),
        topic(names.BENCHMARK_TOPIC, _BENCHMARK_QUEUES),
        topic(broker.broker_cluster_name, _CLUSTER_TOPIC_QUEUES, cluster_perm),
        topic(broker.broker_name, 1, broker_perm),
        topic(names.OFFSET_MOVED_EVENT, 1),
        topic(names.SCHEDULE_TOPIC, delay_levels),
        topic(names.reply_topic(broker.broker_cluster_name), 1),
    ]
    if keys.auto_create_topic_enable:
        made.append(topic(names.AUTO_CREATE_TOPIC, keys.default_topic_queue_nums, _ALL))
    if keys.trace_topic_enable:
        made.append(topic(keys.msg_trace_topic_name, 1))
    return made


def check_queues(whose: str, queues: int, *, most: int = 0) -> None:
    """Raise QueuesTooMany if there are more than `MOST_QUEUES` and than `most`.

    Apache's broker has no limit, so a topic from its directory may have more, and keeps them.
    """
    most = max(MOST_QUEUES, most)
    if queues > most:
        raise QueuesTooMany(whose, queues, most)


def _queues(topic: TopicConfig | None) -> int:
    return max(topic.read_queue_nums, topic.write_queue_nums) if topic else 0


def retry_config(topic: str, queues: int, sys_flag: int = 0) -> TopicConfig:
    """The configuration of a new retry topic or dead-letter topic."""
    return TopicConfig(
        topic_name=topic, read_queue_nums=queues, write_queue_nums=queues, perm=READ_WRITE, topic_sys_flag=sys_flag
    )


class BrokerTopics:
    """Topic configurations of one broker.

    Attributes:
        get: gives a topic's configuration, or None.
        changed: called after each change with the changed topics; None: any may have changed.
        own: the names of the broker's own topics, once created.
        particular: topics for which sends need checks: RocketMQ's own, those with invalid names (from Apache's file, or
            named like the broker), retry topics, and those with a type.
        typed: topics that accept messages of one type only, with that type.
    """

    def __init__(self, table: TopicTable, keys: LiveGroup[TopicKeys], room: TopicLimit | None = None) -> None:
        """Use a table; without `room` it has no limit."""
        self._table = table
        self.get: Callable[[str], TopicConfig | None] = table.get
        self._keys = keys
        self._room = room
        self.changed = Event[[Sequence[TopicConfig] | None]]()
        self.own: frozenset[str] = frozenset()
        self.particular: set[str] = set()
        self.typed: dict[str, MessageType] = {}
        self._leaving: set[str] = set()
        self._note_particular(self._table)

    def _note_particular(self, topics: Iterable[TopicConfig]) -> None:
        self.particular |= names.SEND_FORBIDDEN_TOPICS
        for topic in topics:
            name = topic.topic_name
            accepted = accepted_type(topic)
            if accepted is None:
                self.typed.pop(name, None)
            else:
                self.typed[name] = accepted
            if accepted is not None or name.startswith(_PARTICULAR) or names.topic_name_error(name):
                self.particular.add(name)

    @property
    def table(self) -> TopicTable:
        """The table itself: all topics and their data version."""
        return self._table

    def make_system_topics(self, broker: BrokerKeys, delay_levels: int) -> None:
        """Enter the broker's own topics; existing ones stay as they are."""
        made = system_topics(broker, self._keys.current, delay_levels)
        for topic in made:
            self._table.put_built_in(topic)
        self.own = frozenset(topic.topic_name for topic in made)
        self._note_particular(self._table)

    def put(self, topic: TopicConfig) -> None:
        """Enter or change a topic.

        Raises:
            NameInvalid: its name breaks the rules; nothing is changed.
            QueuesTooMany: it has more than `MOST_QUEUES`, and more than it had before; nothing is changed.
            LimitExceeded: it is new, and there are too many; nothing is changed.
            TopicBeingDeleted: it is being deleted; nothing is changed.
            StoreError: it could not be saved; it is in force until the next start.
        """
        self.put_all([topic])

    def put_all(self, topics: Sequence[TopicConfig]) -> None:
        """Enter or change several topics, which are saved and registered together.

        Raises:
            NameInvalid, QueuesTooMany, LimitExceeded: as `put`, of any of them; nothing is changed.
            StoreError: they could not be saved; they are in force until the next start.
        """
        for topic in topics:
            check_queues(f"topic[{topic.topic_name}]", _queues(topic), most=_queues(self.get(topic.topic_name)))
        self._enter(topics)

    def _enter(self, topics: Sequence[TopicConfig], *, own: bool = False) -> None:
        for topic in topics:
            problem = names.topic_name_error(topic.topic_name.replace("+", "_") if own else topic.topic_name)
            if problem is not None:
                raise NameInvalid(problem)
            if topic.topic_name in self._leaving:
                raise TopicBeingDeleted(topic.topic_name)
        if self._room is not None:
            self._room.check(topic.topic_name for topic in topics)
        for topic in topics:
            self._table.put(topic)
            log.info(
                "topic %(topic)s: %(queues)d queues", {"topic": topic.topic_name, "queues": topic.write_queue_nums}
            )
        # The topic as it is in the table now: attributes that the change does not name stay.
        entered = [self._table.configs[topic.topic_name] for topic in topics]
        self._note_particular(entered)
        self._persist_and_notify(entered)

    def remove(self, topic: str) -> None:
        """Remove a topic, if there is one. Its name server keeps the route until a request deletes it, as Apache's.

        Raises:
            StoreError: the removal could not be saved.
        """
        if self._table.remove(topic):
            log.info("topic %(topic)s: configuration removed", {"topic": topic})
            self.typed.pop(topic, None)
            self.particular.discard(topic)
            self._persist_and_notify(())

    @contextlib.contextmanager
    def leaving(self, topic: str) -> Iterator[None]:
        """Let no client create a topic, because the rest of it is being removed."""
        self._leaving.add(topic)
        try:
            yield
        finally:
            self._leaving.discard(topic)

    def permission_changed(self) -> None:
        """Register the topics with the name server with the broker's new permission."""
        self._table.raise_version()
        self._persist_and_notify(None)

    def _persist_and_notify(self, topics: Sequence[TopicConfig] | None) -> None:
        try:
            self._table.persist()
        finally:
            self.changed(topics)  # the table is what counts: a route must not wait for the disk

    def create_on_send(self, topic: str, default_topic: str, queues: int | None, sys_flag: int) -> TopicConfig | None:
        """Create a topic from the template `default_topic`, as a send to a new topic does.

        None if automatic creation is off or the template's permissions are not inherited.

        Raises:
            HeaderFieldMissing: it could be created, but the send does not give the number of queues.
        """
        model = self.get(default_topic)
        if model is None or not model.perm & Permission.INHERIT:
            return None
        if default_topic == names.AUTO_CREATE_TOPIC and not self._keys.current.auto_create_topic_enable:
            return None
        if queues is None:
            raise HeaderFieldMissing(SendMessageRequestHeader.__name__, "defaultTopicQueueNums")
        count = max(0, min(queues, model.write_queue_nums))
        made = TopicConfig(
            topic_name=topic,
            read_queue_nums=count,
            write_queue_nums=count,
            perm=model.perm & ~Permission.INHERIT,
            topic_filter_type=model.topic_filter_type,
            topic_sys_flag=sys_flag,
        )
        self._enter([made])
        return made

    def create_retry(self, topic: str, queues: int, sys_flag: int = 0) -> TopicConfig:
        """The retry or dead-letter topic of a group, created if it does not exist."""
        known = self.get(topic)
        if known is not None:
            return known
        made = retry_config(topic, queues, sys_flag)
        self._enter([made])
        return made

    def create_own_retry(self, topic: str, queues: int) -> TopicConfig:
        """As `create_retry`, of a topic whose name the broker makes of others: it may have a ``+`` in it."""
        known = self.get(topic)
        if known is not None:
            return known
        made = retry_config(topic, queues)
        self._enter([made], own=True)
        return made

    def create_retries(self, wanted: Iterable[TopicConfig]) -> None:
        """Create the missing ones of several retry topics; they are saved and registered together.

        Raises:
            NameInvalid: the name of one is not valid; none is created.
            StoreError: they could not be saved; they are in force until the next start.
        """
        new = [topic for topic in wanted if topic.topic_name not in self._table]
        if new:
            self._enter(new)
