"""What the store's tests share: small settings, drafts, a clock to turn, a stop like kill -9, and the golden stores."""

from __future__ import annotations

import contextlib
import gc
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.append.drafts import Draft
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import string_hash
from tests.wire import golden

HOST = encode_host("127.0.0.1", 10911)
START = 1_700_000_000_000


class Clock:
    """A clock that stands still until a test sets it."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def small(root: Path, **changes: Any) -> StoreSettings:
    settings = StoreSettings(
        root=root,
        commit_log_file_size=4096,
        consume_queue_file_size=20 * 16,
        index_slots=20,
        index_entries=50,
    )
    return replace(settings, **changes)


def draft(number: int = 0, *, topic: str = "T", queue_id: int = 0, **changes: Any) -> Draft:
    tag = f"Tag{number % 3}"
    properties = f"UNIQ_KEY\x01U{number:07d}\x02KEYS\x01k{number}\x02TAGS\x01{tag}"
    values: dict[str, Any] = {
        "topic": topic,
        "queue_id": queue_id,
        "body": b"body-%d" % number,
        "properties": properties.encode(),
        "flag": 0,
        "sys_flag": 0,
        "born_timestamp": START - 5,
        "born_host": encode_host("10.0.0.1", 1234),
        "tags_code": string_hash(tag),
        "unique_key": f"U{number:07d}",
        "keys": f"k{number}",
    }
    values.update(changes)
    return Draft(**values)


_opened: list[MessageStore] = []


def open_store(settings: StoreSettings, clock: Clock | None = None, files: FileSystem | None = None) -> MessageStore:
    """Open a store, which is closed after the test unless the test does it (`close_stores`)."""
    _opened[:] = [store for store in _opened if not store._closed]
    _opened.append(MessageStore.open(settings, clock=clock or Clock(), store_host=HOST, files=files))
    return _opened[-1]


@pytest.fixture(autouse=True)
def close_stores(tmp_path: Path) -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


@pytest.fixture
def store(tmp_path: Path) -> MessageStore:
    """A new store of small files."""
    return open_store(small(tmp_path))


def remove_log_file(store: MessageStore) -> None:
    """Remove the oldest file of the log, whatever its age."""
    segment = store.retention.detach_log_file(0, 0, forcibly=True)
    assert segment is not None
    segment.remove()


def kill(store: MessageStore) -> None:
    """Leave the files as a killed process would: only the lock goes."""
    if not store._closed:
        store._closed = True
        FileSystem().close(store._presence.lock)


def bodies(store: MessageStore, topic: str = "T", queue_id: int = 0) -> list[bytes]:
    """Bodies of all messages of a queue, as a consumer reads them."""
    from rocketwire.wire.message import decode_record

    found: list[bytes] = []
    offset = store.min_offset(topic, queue_id)
    while offset < store.max_offset(topic, queue_id):
        fetched = store.get(topic, queue_id, offset, 32)
        for chunk in fetched.chunks:
            at = 0
            while at < len(chunk):
                message = decode_record(chunk, at)
                assert (message.topic, message.queue_id) == (topic, queue_id)
                found.append(message.body)
                at += int.from_bytes(chunk[at : at + 4])
        assert fetched.next_offset > offset
        offset = fetched.next_offset
    return found


class Golden:
    """A golden store: its expectations, and copies of its directory to open."""

    def __init__(self, version: str, work: Path) -> None:
        self.directory = work / version
        golden.unpack_store(version, self.directory)

    def copy(self, to: Path) -> Path:
        shutil.copytree(self.untouched, to / "store")
        return to / "store"

    @property
    def untouched(self) -> Path:
        return self.directory / "store"

    @property
    def port(self) -> int:
        """The port of the broker that wrote it."""
        return int(self._conf()["listenPort"])

    def _conf(self) -> dict[str, str]:
        lines = (self.directory / "broker.conf").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if line)

    def settings(self, root: Path) -> StoreSettings:
        conf = self._conf()
        return StoreSettings(
            root=root,
            commit_log_file_size=int(conf["mappedFileSizeCommitLog"]),
            consume_queue_file_size=int(conf["mappedFileSizeConsumeQueue"]),
            index_slots=int(conf["maxHashSlotNum"]),
            index_entries=int(conf["maxIndexNum"]),
        )

    def lines(self, name: str) -> list[dict[str, Any]]:
        text = (self.directory / name).read_text()
        return [json.loads(line) for line in text.splitlines()]


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    """The message of a line of a golden store's expected.jsonl, by the names of `store cat --json`; no body."""
    return {
        "topic": line["topic"],
        "queue_id": line["queueId"],
        "queue_offset": line["queueOffset"],
        "message_id": line["msgId"],
        "offset_message_id": line["offsetMsgId"],
        "born_timestamp": line["bornTimestamp"],
        "store_timestamp": line["storeTimestamp"],
        "born_host": line["bornHost"],
        "store_host": line["storeHost"],
        "tags": line["tags"],
        "keys": [key for key in (line["keys"] or "").split(" ") if key],
        "properties": line["properties"],
        "sys_flag": line["sysFlag"],
        "flag": line["flag"],
        "reconsume_times": line["reconsumeTimes"],
        "prepared_transaction_offset": line["preparedTransactionOffset"],
        "body_crc": line["bodyCRC"],
        "physical_offset": line["physicalOffset"],
        "store_size": line["storeSize"],
    }


def descriptors() -> Counter[str]:
    """What the descriptors of this process stand for; `descriptors() - before` are those that came since.

    Other tests leave some that go at any time, so their number means nothing.
    """
    gc.collect()
    links: Counter[str] = Counter()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            links[str(each.readlink())] += 1
    return links
