"""Stores that real Apache brokers wrote: opened, read, rebuilt from their log, and written again."""

from __future__ import annotations

import hashlib
import shutil
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.append.drafts import Draft
from rocketwire.store.index.key_column import positive_hash
from rocketwire.store.layout.index import ENTRY_SIZE, HEADER_SIZE, SLOT_SIZE
from rocketwire.store.read.fetch import FetchStatus
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_properties
from tests.store.support import Clock, Golden, draft, open_store

FOREVER = 1 << 62


def queues_of(golden: Golden) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (line["topic"], line["queueId"]): (line["minOffset"], line["maxOffset"])
        for line in golden.lines("expected-cq.jsonl")
        if line["type"] == "queue" and line["maxOffset"]
    }


def units_of(golden: Golden) -> dict[tuple[str, int], list[tuple[int, int, int]]]:
    units = defaultdict(list)
    for line in golden.lines("expected-cq.jsonl"):
        if line["type"] == "unit":
            units[line["topic"], line["queueId"]].append((line["physicalOffset"], line["size"], line["tagsCode"]))
    return units


def found_queues(store: MessageStore) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (topic, queue_id): (store.min_offset(topic, queue_id), store.max_offset(topic, queue_id))
        for topic, queue_id in store._queues.by_key
        if store.max_offset(topic, queue_id)
    }


def check_queues(golden: Golden, store: MessageStore) -> None:
    for (topic, queue_id), units in units_of(golden).items():
        queue = store._queues.by_key[topic, queue_id]
        assert [queue.entry(n) for n in range(queue.end)] == units


def check_records(golden: Golden, store: MessageStore) -> None:
    for line in golden.lines("expected.jsonl"):
        if line["type"] != "message":
            assert store.record_at(line["physicalOffset"]) is None
            continue
        record = store.record_at(line["physicalOffset"])
        assert record is not None
        assert len(record) == line["storeSize"]
        message = decode_record(record)
        assert message.topic == line["topic"]
        assert message.queue_offset == line["queueOffset"]
        assert message.properties.decode() == line["propertiesAsStored"]
        assert hashlib.sha256(message.body).hexdigest() == line["storedBodySha256"]
        assert message.store_timestamp == line["storeTimestamp"]


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
@pytest.mark.parametrize("clean", [True, False])
def test_a_store_of_apache_opens(version: str, clean: bool, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    golden: Golden = request.getfixturevalue(version)
    root = golden.copy(tmp_path)
    if not clean:
        (root / "abort").touch()
    store = open_store(golden.settings(root))
    expected = queues_of(golden)
    found = found_queues(store)
    if clean:
        assert found == expected
    else:
        # The queues of a deleted topic come back with its messages, as with Apache.
        assert {key: found[key] for key in expected} == expected
        assert {topic for topic, _ in found.keys() - expected.keys()} <= {"GoldenDel"}
    check_queues(golden, store)
    check_records(golden, store)


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_queries_by_key_give_what_apache_gives(version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    golden: Golden = request.getfixturevalue(version)
    store = open_store(golden.settings(golden.copy(tmp_path)))
    check_queries(golden, store)


def check_queries(golden: Golden, store: MessageStore) -> None:
    assert store._index is not None
    queries = [line for line in golden.lines("expected-index.jsonl") if line["type"] == "query"]
    assert queries
    for line in queries:
        assert positive_hash(f"{line['topic']}#{line['key']}") == line["keyHash"]
        found = store._index.find(line["topic"], line["key"], 64, 0, FOREVER)
        assert found.offsets == line["phyOffsetsNewestFirst"]


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_a_clean_open_and_close_changes_no_byte_of_the_data(
    version: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    golden: Golden = request.getfixturevalue(version)
    root = golden.copy(tmp_path)
    open_store(golden.settings(root)).close()
    for part in ("commitlog", "consumequeue", "index", "config"):
        assert tree(root / part) == tree(golden.untouched / part)
    assert not (root / "abort").exists()


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def deleted(topic: str) -> bool:
    return topic == "GoldenDel"


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_consume_queues_and_index_are_made_again_from_the_log_byte_for_byte(
    version: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    golden: Golden = request.getfixturevalue(version)
    root = golden.copy(tmp_path)
    shutil.rmtree(root / "consumequeue")
    shutil.rmtree(root / "index")
    store = open_store(golden.settings(root))
    while store.dispatch_index():
        pass
    store.close()
    rebuilt = tree(root / "consumequeue")
    assert {name: digest for name, digest in rebuilt.items() if not deleted(name.partition("/")[0])} == tree(
        golden.untouched / "consumequeue"
    )
    if version == "golden_497":  # 5.5.0 indexes tags too
        assert list(tree(root / "index").values()) == list(tree(golden.untouched / "index").values())
    store = open_store(golden.settings(root))
    check_queries(golden, store)


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_appending_the_messages_of_a_golden_log_writes_the_same_bytes(
    version: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    golden: Golden = request.getfixturevalue(version)
    root = tmp_path / "again"
    clock = Clock()
    lines = golden.lines("expected.jsonl")
    source = open_store(golden.settings(golden.copy(tmp_path)))
    store = MessageStore.open(golden.settings(root), clock=clock, store_host=encode_host("127.0.0.1", golden.port))
    for line in lines:
        if line["type"] != "message":
            continue
        record = source.record_at(line["physicalOffset"])
        assert record is not None
        clock.now = line["storeTimestamp"]
        appended = store.append([again(record)])
        assert [tuple(each) for each in appended] == [(line["physicalOffset"], line["storeSize"], line["queueOffset"])]
        store.dispatch_index()
    store.close()
    source.close()
    assert tree(root / "commitlog") == tree(golden.untouched / "commitlog")
    assert {
        name: digest for name, digest in tree(root / "consumequeue").items() if not deleted(name.partition("/")[0])
    } == tree(golden.untouched / "consumequeue")
    if version == "golden_497":  # 5.5.0 indexes tags too
        assert list(tree(root / "index").values()) == list(tree(golden.untouched / "index").values())
        assert (root / "checkpoint").read_bytes() == (golden.untouched / "checkpoint").read_bytes()
    assert (root / "lock").read_bytes() == (golden.untouched / "lock").read_bytes()


def again(record: memoryview) -> Draft:
    message = decode_record(record)
    properties = decode_properties(message.properties.decode())
    values: dict[str, Any] = {"tags_code": string_hash(properties["TAGS"]) if "TAGS" in properties else 0}
    return Draft(
        topic=message.topic,
        queue_id=message.queue_id,
        body=message.body,
        properties=message.properties,
        flag=message.flag,
        sys_flag=message.sys_flag & ~(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6),
        born_timestamp=message.born_timestamp,
        born_host=encode_host(*message.born_host),
        reconsume_times=message.reconsume_times,
        prepared_offset=message.prepared_transaction_offset,
        unique_key=properties.get("UNIQ_KEY"),
        keys=properties.get("KEYS"),
        **values,
    )


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_every_message_is_fetched_by_its_queue(version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    golden: Golden = request.getfixturevalue(version)
    store = open_store(golden.settings(golden.copy(tmp_path)))
    for (topic, queue_id), units in units_of(golden).items():
        offset = 0
        got: list[tuple[int, int]] = []
        while (fetched := store.get(topic, queue_id, offset, 32)).status is FetchStatus.FOUND:
            for chunk in fetched.chunks:
                at = 0
                while at < len(chunk):
                    message = decode_record(chunk, at)
                    size = int.from_bytes(chunk[at : at + 4])
                    got.append((message.physical_offset, size))
                    at += size
            offset = fetched.next_offset
        assert fetched.status is FetchStatus.OFFSET_OVERFLOW_ONE
        assert got == [(physical_offset, size) for physical_offset, size, _ in units]


def test_an_index_of_5x_answers_by_tag_too_and_is_continued_as_4x(golden_550: Golden, tmp_path: Path) -> None:
    root = golden_550.copy(tmp_path)
    clock = Clock(golden_550.lines("expected.jsonl")[-1]["storeTimestamp"] + 1000)
    store = open_store(golden_550.settings(root), clock)
    before = sorted((root / "index").iterdir())
    full = {path.name: path.read_bytes() for path in before[:-1]}
    partly = before[-1].read_bytes()
    tagged = by_tag(golden_550)
    assert len(tagged) > 30
    store.append([draft(n, topic="GoldenFill") for n in range(300)])
    while store.dispatch_index():
        pass
    check_queries(golden_550, store)
    assert store._index is not None
    for (topic, tag), offsets in tagged.items():
        same_hash = [
            each for key, each in tagged.items() if key[0] == topic and string_hash(key[1]) == string_hash(tag)
        ]
        newest_first = sorted(chain(*same_hash), reverse=True)
        assert set(offsets) <= set(newest_first)
        assert store._index.find(topic, f"T#{tag}", 64, 0, FOREVER).offsets == newest_first[:64]
    assert all(len(store.query("GoldenFill", f"k{n}", 64, 0, FOREVER).records) == 1 for n in range(300))
    assert not store._index.find("GoldenFill", "T#Tag0", 64, 0, FOREVER).offsets
    store.close()
    after = sorted((root / "index").iterdir())
    assert len(after) == len(before) + 2
    assert {path.name: path.read_bytes() for path in after[: len(full)]} == full
    entries_at = HEADER_SIZE + 200 * SLOT_SIZE
    done = entries_at + int.from_bytes(partly[36:40]) * ENTRY_SIZE
    assert before[-1].read_bytes()[entries_at:done] == partly[entries_at:done]
    header = before[-1].read_bytes()[:HEADER_SIZE]
    assert (header[:8], header[16:24], header[36:]) == (partly[:8], partly[16:24], (500).to_bytes(4))


def by_tag(golden: Golden) -> dict[tuple[str, str], list[int]]:
    found = defaultdict(list)
    for line in golden.lines("expected.jsonl"):
        if line["type"] == "message" and line.get("tags"):
            found[line["topic"], line["tags"]].append(line["physicalOffset"])
    return found


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_abort_says_that_the_stop_was_not_clean_whatever_it_holds(
    version: str, request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    golden: Golden = request.getfixturevalue(version)
    root = golden.copy(tmp_path)
    (root / "abort").write_bytes(b"4711" if version == "golden_550" else b"")  # 5.x writes its process id
    left = sorted(path.name for path in root.iterdir())
    store = open_store(golden.settings(root))
    assert "its last stop was not a clean one" in caplog.text
    assert (root / "abort").read_bytes() == b""
    store.close()
    # What is 5.x's alone, abort.bak and the timer among it, stays.
    assert sorted(path.name for path in root.iterdir()) == [name for name in left if name != "abort"]


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_a_checkpoint_of_apache_is_kept_but_for_the_three_times(
    version: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    golden: Golden = request.getfixturevalue(version)
    root = golden.copy(tmp_path)
    before = (root / "checkpoint").read_bytes()
    last = golden.lines("expected.jsonl")[-1]["storeTimestamp"]
    store = open_store(golden.settings(root), Clock(last + 5000))
    store.append([draft(1)])
    store.close()
    after = (root / "checkpoint").read_bytes()
    assert len(after) == 4096
    assert after[24:] == before[24:]  # 5.x keeps more there
    assert after[:16] == (last + 5000).to_bytes(8) * 2
    assert after[16:24] == before[16:24]  # no index file became full
