"""Stores with a backlog of background work, made directly: each kind is what a broker finds when it starts."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.pop.records import PopRecords
from rocketwire.server.transactions.half import OP, half_draft
from rocketwire.store.append.drafts import Draft
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.timer.units import out_time
from rocketwire.wire import names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.properties import (
    DELAY,
    KEYS,
    PRODUCER_GROUP,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    TRANSACTION_CHECK_TIMES,
    TRANSACTION_PREPARED,
    UNIQ_KEY,
    WAIT,
)
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.pop_records import CheckPoint
from rocketwire.wire.stored_properties import tags_code

BACKLOG: Final = 500_000
"""Messages, or whatever the work is about."""
TOPIC: Final = "BenchBacklog"
GROUP: Final = "bench_backlog"
_AGO_MS: Final = 600_000
_BODY: Final = b"x" * 20
_HOST: Final = encode_host("127.0.0.1", 10911)
_GROUP: Final = 500
_TAKEN_TOGETHER: Final = 10
_CLUSTER: Final = "DefaultCluster"

Progress = Callable[[MessageStore], int]
"""How much of a backlog is done, by the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of background work.

    Attributes:
        name: How it is chosen.
        text: What it is, in the table.
        make: Writes its backlog of so many into a store directory.
        progress: Returns how much is done; None: the store does not show it.
        settings: Of the broker.
        topic: A topic that is to be deleted to begin the work; empty: it begins automatically.
    """

    name: str
    text: str
    make: Callable[[Path, int], None]
    progress: Progress | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    topic: str = ""


def _now() -> int:
    return int(time.time() * 1000)


def _ago() -> int:
    return _now() - _AGO_MS


def opened(root: Path) -> MessageStore:
    """The store of a directory, whose messages are stored ten minutes ago."""
    return MessageStore.open(StoreSettings(root=root), clock=_ago, store_host=_HOST)


def _filled(root: Path, drafts: Iterator[Draft]) -> None:
    store = opened(root)
    while group := list(islice(drafts, _GROUP)):
        store.append(group)
    store.close()


def _plain(number: int, topic: str = TOPIC, properties: str = "") -> Draft:
    key = f"{number:032d}"
    text = f"{UNIQ_KEY}\x01{key}\x02{WAIT}\x01true{properties}"
    return Draft(topic, 0, _BODY, text.encode(), 0, 0, _ago(), _HOST, unique_key=key)


def _half(properties: str) -> Callable[[Path, int], None]:
    def drafts(count: int) -> Iterator[Draft]:
        for number in range(count):
            half = f"\x02{TRANSACTION_PREPARED}\x01true\x02{PRODUCER_GROUP}\x01{GROUP}"
            draft = _plain(number, properties=half + properties)
            draft.sys_flag = SysFlag.TRANSACTION_PREPARED
            yield half_draft(draft)

    return lambda root, count: _filled(root, drafts(count))


def _delayed(root: Path, count: int) -> None:
    def drafts() -> Iterator[Draft]:
        for number in range(count):
            draft = _plain(number, properties=f"\x02{DELAY}\x011")
            draft.properties = with_real_queue(draft.properties, draft.topic, draft.queue_id)
            draft.topic, draft.tags_code = names.SCHEDULE_TOPIC, _ago() + 1000
            yield draft

    _filled(root, drafts())


def _timers(root: Path, count: int) -> None:
    due = _now() - _AGO_MS // 2

    def drafts() -> Iterator[Draft]:
        for number in range(count):
            draft = _plain(number, properties=f"\x02{TIMER_DELIVER_MS}\x01{due}\x02{TIMER_OUT_MS}\x01{out_time(due)}")
            draft.properties = with_real_queue(draft.properties, draft.topic, draft.queue_id)
            draft.topic = names.TIMER_TOPIC
            yield draft

    _filled(root, drafts())


def _popped(root: Path, count: int) -> None:
    records = PopRecords(names.revive_topic(_CLUSTER), _HOST)
    popped = _now() - _AGO_MS // 2

    def drafts() -> Iterator[Draft]:
        for number in range(count):
            yield _plain(number)
        for start in range(0, count, _TAKEN_TOGETHER):
            point = CheckPoint(
                topic=TOPIC,
                group=GROUP,
                queue_id=0,
                start_offset=start,
                offset_differences=tuple(range(_TAKEN_TOGETHER)),
                pop_time=popped,
                invisible_time=60_000,
                broker="broker-a",
                count=_TAKEN_TOGETHER,
            )
            yield records.check_point(point, start // _TAKEN_TOGETHER % 8, _now())

    _filled(root, drafts())
    _configured(root)


def _configured(root: Path) -> None:
    """Write down that topic and group exist: only then messages are redelivered."""
    topics = {
        TOPIC: {"topicName": TOPIC, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "topicSysFlag": 0},
        names.revive_topic(_CLUSTER): {
            "topicName": names.revive_topic(_CLUSTER),
            "readQueueNums": 8,
            "writeQueueNums": 8,
            "perm": 6,
        },
    }
    _write(root, "topics.json", {"topicConfigTable": topics})
    _write(root, "subscriptionGroup.json", {"subscriptionGroupTable": {GROUP: {"groupName": GROUP}}})


def _write(root: Path, name: str, document: object) -> None:
    folder = root / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(document), "utf-8")


def _unindexed(root: Path, count: int) -> None:
    def drafts() -> Iterator[Draft]:
        for number in range(count):
            draft = _plain(number, properties=f"\x02{KEYS}\x01k{number}")
            draft.keys = f"k{number}"
            draft.tags_code = tags_code(None)
            yield draft

    _filled(root, drafts())
    shutil.rmtree(root / "index")


def _offsets(root: Path, count: int) -> None:
    _filled(root, (_plain(number) for number in range(1)))
    _configured(root)
    _write(root, "consumerOffset.json", {"offsetTable": {f"{TOPIC}@g{number}": {"0": 1} for number in range(count)}})


def _end(topic: str, queue_id: int = 0) -> Progress:
    return lambda store: store.max_offset(topic, queue_id)


KINDS: Final = (
    Kind(
        name="checks",
        text="half messages to be checked",
        make=_half(""),
        progress=_end(*OP),
        settings={"transactionCheckInterval": "1000"},
    ),
    Kind(
        name="given-up",
        text="half messages to be given up",
        make=_half(f"\x02{TRANSACTION_CHECK_TIMES}\x0115"),
        progress=_end(*OP),
        settings={"transactionCheckInterval": "1000"},
    ),
    Kind(name="delays", text="overdue messages with a delay level", make=_delayed, progress=_end(TOPIC)),
    Kind(name="timers", text="overdue timer messages", make=_timers, progress=_end(TOPIC)),
    Kind(
        name="popped",
        text="popped messages that come again",
        make=_popped,
        progress=_end(names.pop_retry_topic(TOPIC, GROUP)),
    ),
    Kind(name="index", text="messages to be indexed", make=_unindexed),
    Kind(name="offsets", text="offsets of a topic that is deleted", make=_offsets, topic=TOPIC),
)
