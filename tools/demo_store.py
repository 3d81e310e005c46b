"""Making the store for docs/examples/rocketmq-in-spark.ipynb: a shop's traffic of one night.

    python -m tools.demo_store DIR

Four topics with tags and keys; few customers are busy and many are not. Consumers fail at times, so that messages are
retried with growing delays (SCHEDULE_TOPIC_XXXX, then %RETRY%…), and finally become dead letters (%DLQ%…). One group
has an hour in which most of its work fails, and for ten minutes sends are slow: the plots show both.
All is written by rocketwire's own store, with the times and properties that a broker and its clients would set.
"""

from __future__ import annotations

import heapq
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from rocketwire.store.append.drafts import Draft
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import string_hash
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.names import SCHEDULE_TOPIC, dead_letter_topic, retry_topic
from rocketwire.wire.properties import encode_properties

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
#: 2026-01-05 16:00 UTC, in ms.
START: Final = 1_767_628_800_000
LASTS: Final = 12 * HOUR
#: When sends are slow, in ms since START, and by which factor.
SLOW: Final = (5 * HOUR, 5 * HOUR + 10 * MINUTE, 40)
#: How long a message waits before its first, second … retry: the delay levels 3 to 6.
RETRY_AFTER: Final = (10_000, 30_000, MINUTE, 2 * MINUTE)
_FIRST_LEVEL: Final = 3
CUSTOMERS: Final = 20_000
_BROKER: Final = encode_host("10.0.0.2", 10911)
_CONSUMER: Final = encode_host("10.0.0.9", 40912)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic: its part of all messages, its tags with their parts, its number of queues, bytes of a body (median).

    Attributes:
        group: The group that consumes it; None: no group whose work fails.
        fails: How often consuming fails.
        outage: A span, in ms since START, in which it mostly fails.
    """

    name: str
    part: float
    tags: dict[str, float]
    queues: int
    body: int
    group: str | None = None
    fails: float = 0.0
    outage: tuple[int, int] = (0, 0)

    def failure(self, since_start: int) -> float:
        """How probable it is that a message of that time cannot be consumed."""
        return 0.7 if self.outage[0] <= since_start < self.outage[1] else self.fails


TOPICS: Final = (
    Topic(name="Clicks", part=0.6, tags={"view": 0.8, "search": 0.15, "basket": 0.05}, queues=8, body=220),
    Topic(
        name="Orders",
        part=0.2,
        tags={"created": 0.6, "changed": 0.3, "cancelled": 0.1},
        queues=4,
        body=900,
        group="billing",
        fails=0.01,
    ),
    Topic(
        name="Payments",
        part=0.12,
        tags={"card": 0.7, "wallet": 0.25, "refund": 0.05},
        queues=4,
        body=500,
        group="ledger",
        fails=0.03,
        outage=(3 * HOUR, 4 * HOUR),
    ),
    Topic(
        name="Shipments",
        part=0.08,
        tags={"packed": 0.4, "sent": 0.35, "delivered": 0.25},
        queues=2,
        body=650,
        group="parcels",
        fails=0.005,
    ),
)


@dataclass(order=True, slots=True)
class _Coming:
    """What is stored at a time: a message, or one to be retried, that waits or is due."""

    at: int
    number: int
    topic: Topic = field(compare=False)
    draft: Draft = field(compare=False)
    properties: dict[str, str] = field(compare=False)
    retry: int = field(default=0, compare=False)
    waits: bool = field(default=False, compare=False)


def make(root: Path, random: np.random.Generator, *, messages: int = 110_000) -> Counter[str]:
    """Make the store in an empty or new folder; return how many messages each topic got.

    Args:
        root: The folder.
        random: Decides all that is not fixed.
        messages: How many are sent; retries and dead letters come on top.
    """
    now = START

    def clock() -> int:
        return now

    settings = StoreSettings(root=root, commit_log_file_size=32 << 20)
    store = MessageStore.open(settings, clock=clock, store_host=_BROKER)
    made: Counter[str] = Counter()
    ends: Counter[tuple[str, int]] = Counter()
    try:
        shop = _Shop(random)
        for coming in shop.traffic(_sent(random, messages)):
            now = coming.at
            (appended,) = store.append([coming.draft])
            shop.stored(coming, appended.physical_offset)
            made[coming.draft.topic] += 1
            ends[coming.draft.topic, coming.draft.queue_id] = appended.queue_offset + 1
        while store.dispatch_index():
            pass
    finally:
        store.close()
    _commit(root, ends)
    return made


def _sent(random: np.random.Generator, messages: int) -> Iterator[_Coming]:
    """What producers send, in the order in which it is stored."""
    born = START + np.sort(_moments(random, messages))
    slow = (born >= START + SLOW[0]) & (born < START + SLOW[1])
    late = random.lognormal(np.log(3), 0.7, messages) * np.where(slow, SLOW[2], 1)
    stored = born + np.maximum(1, late).astype(np.int64)
    topics = random.choice(len(TOPICS), messages, p=[topic.part for topic in TOPICS])
    customers = (random.zipf(1.3, messages) - 1) % CUSTOMERS
    sizes = random.lognormal(0, 0.5, messages)
    picks = random.random(messages)
    for number in np.argsort(stored, kind="stable").tolist():
        topic = TOPICS[topics[number]]
        customer = f"customer-{customers[number]}"
        tag = _picked(topic.tags, picks[number])
        properties = {
            property_names.UNIQ_KEY: f"0A000007{number:024X}",
            property_names.KEYS: customer,
            property_names.TAGS: tag,
            property_names.WAIT: "true",
        }
        body = {"number": number, "customer": customer, "what": f"{topic.name}/{tag}"}
        text = json.dumps(body | {"note": "." * int(topic.body * sizes[number])})
        draft = Draft(
            topic=topic.name,
            queue_id=number % topic.queues,
            body=text.encode(),
            properties=encode_properties(properties).encode(),
            flag=0,
            sys_flag=0,
            born_timestamp=int(born[number]),
            born_host=encode_host(f"10.0.1.{number % 20}", 50_000),
            tags_code=string_hash(tag),
            unique_key=properties[property_names.UNIQ_KEY],
            keys=customer,
        )
        yield _Coming(int(stored[number]), number, topic, draft, properties)


def _moments(random: np.random.Generator, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Times since START, in ms: most in the evening, few at night."""
    grid = np.arange(0, LASTS, MINUTE)
    busy = 0.15 + np.exp(-(((grid - 4 * HOUR) / (2.2 * HOUR)) ** 2))
    minutes: np.ndarray[tuple[int], np.dtype[np.int64]] = random.choice(grid, count, p=busy / busy.sum())
    return minutes + random.integers(0, MINUTE, count)


def _picked(parts: dict[str, float], at: float) -> str:
    """The name whose share covers a number between 0 and 1."""
    for name, part in parts.items():
        at -= part
        if at < 0:
            return name
    return next(reversed(parts))


class _Shop:
    """Consumes messages at once, and stores failed ones again."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._due: list[_Coming] = []

    def traffic(self, sent: Iterator[_Coming]) -> Iterator[_Coming]:
        """All that is stored, by time: sends, retries and dead letters."""
        for coming in sent:
            while self._due and self._due[0].at <= coming.at:
                yield heapq.heappop(self._due)
            yield coming
        while self._due:
            yield heapq.heappop(self._due)

    def stored(self, coming: _Coming, place: int) -> None:
        """Let the group consume a message; a failed one is due later."""
        topic = coming.topic
        if coming.waits:
            self._again(coming, coming.at + RETRY_AFTER[coming.retry - 1], retry_topic(str(topic.group)), waits=False)
        elif topic.group is None or coming.draft.topic == dead_letter_topic(topic.group):
            return
        elif self._random.random() < topic.failure(coming.at - START):
            coming.properties.setdefault(property_names.ORIGIN_MESSAGE_ID, offset_message_id(_BROKER, place))
            coming.properties.setdefault(property_names.RETRY_TOPIC, topic.name)
            coming.retry += 1
            at = coming.at + 20 + int(self._random.integers(0, 400))
            if coming.retry > len(RETRY_AFTER):
                self._again(coming, at, dead_letter_topic(topic.group), waits=False)
            else:
                self._again(coming, at, SCHEDULE_TOPIC, waits=True)

    def _again(self, coming: _Coming, at: int, name: str, *, waits: bool) -> None:
        properties = dict(coming.properties)
        level = _FIRST_LEVEL + coming.retry - 1
        if waits:
            properties |= {
                property_names.DELAY: str(level),
                property_names.REAL_TOPIC: retry_topic(str(coming.topic.group)),
                property_names.REAL_QUEUE_ID: "0",
            }
        old = coming.draft
        draft = Draft(
            topic=name,
            queue_id=level - 1 if waits else 0,
            body=old.body,
            properties=encode_properties(properties).encode(),
            flag=0,
            sys_flag=0,
            born_timestamp=old.born_timestamp,
            born_host=_CONSUMER,
            reconsume_times=coming.retry,
            tags_code=old.tags_code,
            unique_key=old.unique_key,
            keys=old.keys,
        )
        heapq.heappush(
            self._due, _Coming(at, coming.number, coming.topic, draft, coming.properties, coming.retry, waits)
        )


def _commit(root: Path, ends: Counter[tuple[str, int]]) -> None:
    """Commit the groups' offsets: all but one have consumed everything."""
    table = OffsetTable.open(root / "config" / "consumerOffset.json")
    for topic in TOPICS:
        if topic.group is not None:
            behind = 250 if topic.group == "parcels" else 0
            for queue in range(topic.queues):
                table.put(topic.group, topic.name, queue, max(0, ends[topic.name, queue] - behind))
            table.put(topic.group, retry_topic(topic.group), 0, ends[retry_topic(topic.group), 0])
    table.persist()


if __name__ == "__main__":
    for name, count in sorted(make(Path(sys.argv[1]), np.random.default_rng(9)).items()):
        print(f"{count:>8,}  {name}")
