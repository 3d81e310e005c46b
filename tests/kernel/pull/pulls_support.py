"""What tests of `Pulls` share: requests, and the kernel beside its twin over one store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rocketwire import native
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.filters import MessageFilter
from rocketwire.server.filters.sql import compile_sql
from rocketwire.server.filters.tag import subscription_filter
from rocketwire.server.pull.answers import PullAnswers, PullSpec
from rocketwire.server.pull.kernel import answer_texts
from rocketwire.server.pull.keys import LongPollKeys, TransferKeys
from rocketwire.server.pull.offset_moved import OffsetMovedEvents
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.read.fetch import FetchLimits, FetchStatus
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH, RequestCode
from rocketwire.wire.frame import encode_frame, encode_frame_head
from rocketwire.wire.header import Header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from tests.server.harness import JSON, Clock, small_config
from tests.store.support import HOST, draft, open_store, small

MOST_TEXT = 3000  # bytes of property text for one pull: few, so that some pulls end there
ANSWERED = {FetchStatus.FOUND, FetchStatus.NO_MATCHED_MESSAGE}
LIMITS = FetchLimits(
    memory=1 << 40, count_in_memory=32, bytes_in_memory=1 << 18, count_on_disk=8, bytes_on_disk=1 << 16
)


def filter_of(expression: str | None) -> MessageFilter:
    """The kind of an expression: tags, or by SQL when it has a blank in it and no bar."""
    if expression is None or " " not in expression or "|" in expression:
        return subscription_filter(expression)
    chosen = compile_sql(expression)
    return MessageFilter(by_properties=chosen.wanted, most_text=MOST_TEXT, properties=chosen.properties)


class PullCase(NamedTuple):
    """A pull: what the kernel gets, and what the store is queried for."""

    queue_id: int = 0
    offset: int = 0
    most: int = 32
    most_bytes: int | None = None
    expression: str = "*"
    sys_flag: int = 4
    code: int = RequestCode.PULL_MESSAGE
    opaque: int = 7
    serialize_type: int = JSON
    flag: int = 0

    def frame(self, **changes: Any) -> bytes:
        values: dict[str, Any] = {
            "consumer_group": "G",
            "topic": "T",
            "queue_id": self.queue_id,
            "queue_offset": self.offset,
            "max_msg_nums": self.most,
            "sys_flag": self.sys_flag,
            "commit_offset": 5,
            "suspend_timeout_millis": 15_000,
            "sub_version": 0,
            "subscription": self.expression,
            "expression_type": "TAG",
            "max_msg_bytes": self.most_bytes,
            **changes,
        }
        ext = encode_ext(PullMessageRequestHeader(**values))
        return encode_frame(
            Header(code=self.code, opaque=self.opaque, flag=self.flag, ext=ext), b"", self.serialize_type
        )


class Twins:
    """The kernel's `Pulls` over a store, and the same by Python."""

    def __init__(self, store: MessageStore, limits: FetchLimits = LIMITS) -> None:
        clock = Clock()
        live = LiveConfig(small_config(Path()), clock)
        moved = OffsetMovedEvents(store, broker_name="b", store_host=HOST, clock=clock)
        self.store = store
        topics = BrokerTopics(TopicTable.open(Path("topics.json"), clock=clock), live[TopicKeys])
        self.answers = PullAnswers(
            store,
            transfer_keys=live[TransferKeys],
            long_poll_keys=live[LongPollKeys],
            metrics=Metrics(),
            deliveries=Counters(),
            offset_moved=moved,
            throttle=Throttle(live[ThrottleKeys], topics, Metrics()),
        )
        store._limits = limits
        self.requests: list[tuple[Any, ...]] = []
        self.committed: list[tuple[str, str, int, int]] = []
        self.held: list[tuple[Any, ...]] = []
        self.commit: Callable[..., object] = lambda *offset: self.committed.append(offset)
        self.pulls = self.kernel_pulls()

    def kernel_pulls(self, **changes: Any) -> Any:
        """A `Pulls` over the store, with some arguments changed."""
        arguments: dict[str, Any] = {
            "plan": self._plan,
            "plan_offset": self._plan_offset,
            "commit": self._commit,
            "hold": self._hold,
            "texts": answer_texts(self.answers),
            "max_frame": MAX_FRAME_LENGTH,
        }
        assert native.kernel is not None
        return native.kernel.Pulls(self.store.log, **{**arguments, **changes})

    def _commit(self, *offset: Any) -> None:
        self.commit(*offset)

    def _hold(self, *pull: Any) -> None:
        self.held.append(pull)

    def _plan_offset(self, group: str, topic: str) -> bool:
        self.requests.append((group, topic))
        return group != "mine"

    def _plan(self, *fields: Any) -> Any:
        self.requests.append(fields)
        group, topic, queue_id, _, _, subscription, _, most, most_bytes = fields
        queue = self.store.queues.by_key.get((topic, queue_id))
        if subscription == "python":
            return None
        if queue is None:
            return False
        limits = self._limits(most_bytes)
        wanted = filter_of(subscription)
        by_properties = None
        if wanted.by_properties is not None:
            assert wanted.properties is not None
            by_properties = (tuple(map(str.encode, wanted.properties)), wanted.by_properties, wanted.most_text)
        return (
            queue,
            None if wanted.codes is None else list(wanted.codes),
            by_properties,
            most,
            limits.memory,
            limits.count_in_memory,
            limits.bytes_in_memory,
            limits.count_on_disk,
            limits.bytes_on_disk,
            (group, topic, queue_id),
        )

    def _limits(self, most_bytes: int | None) -> FetchLimits:
        own = self.store._limits.bytes_in_memory
        return self.store.limits(own if most_bytes is None else min(own, most_bytes))

    def serve(self, data: bytes) -> tuple[bytes, int]:
        answers, taken = self.pulls.serve(None, data, 0)
        assert isinstance(answers, bytes)
        return answers, taken

    def python(self, pull: PullCase) -> tuple[FetchStatus, bytes, int, int]:
        """Status, frame, messages and bytes of the twin's answer."""
        filter_ = filter_of(pull.expression)
        requested = PullSpec("T", pull.queue_id, pull.offset, pull.offset == 0, pull.most, pull.most_bytes, filter_)
        fetched = self.store.get(
            "T",
            pull.queue_id,
            pull.offset,
            pull.most,
            self._limits(pull.most_bytes).bytes_in_memory,
            filter_.by_code,
            filter_.by_properties,
            filter_.most_text,
        )
        body = b"".join(fetched.chunks)
        head = encode_frame_head(
            self.answers.reply(requested, fetched).header(pull.opaque), len(body), pull.serialize_type
        )
        return fetched.status, head + body, fetched.count, fetched.size


def replace_limits(**changes: Any) -> FetchLimits:
    return replace(LIMITS, **changes)


def numbered(tmp_path: Path, count: int = 50, **changes: Any) -> MessageStore:
    """Messages with the properties a (0 to 4 repeatedly) and b (of the number)."""
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    texts = [b"a\x01%d\x02b\x01%d" % (number % 5, number) for number in range(count)]
    store.append([draft(number, properties=text, **changes) for number, text in enumerate(texts)])
    return store


def update(group: str = "G", offset: int = 5, *, flag: int = 0, serialize_type: int = JSON, opaque: int = 3) -> bytes:
    fields = UpdateConsumerOffsetRequestHeader(consumer_group=group, topic="T", queue_id=2, commit_offset=offset)
    header = Header(code=RequestCode.UPDATE_CONSUMER_OFFSET, opaque=opaque, flag=flag, ext=encode_ext(fields))
    return encode_frame(header, b"", serialize_type)
