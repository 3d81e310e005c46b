"""Verifying a store: Apache's are whole, ours are whole, and a wrong byte is found where it is."""

from __future__ import annotations

import itertools
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocketwire.store.layout.index import ENTRY_SIZE, HEADER_OFFSETS, HEADER_SIZE, HEADER_STRUCT, SLOT_SIZE
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.offline.read.opening import read_whole
from rocketwire.store.offline.verify import verify_small
from rocketwire.store.offline.verify.findings import Finding, FindingKind
from rocketwire.store.offline.verify.verify import verify
from rocketwire.store.store import MessageStore
from rocketwire.wire.message import decode_record
from tests.store.offline.support import ENTRIES, SLOTS, Item, Quick, damages, fill, flipped, made, records, verified
from tests.store.support import HOST, START, Clock, Golden, draft, kill, open_store, small


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with made(tmp_path_factory.mktemp("verify") / "store") as root:
        yield root


@pytest.mark.parametrize(("version", "messages", "units"), [("golden_497", 931, 0), ("golden_550", 1015, 52)])
def test_apaches_stores_are_whole(version: str, messages: int, units: int, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    (deleted,) = (line["physicalOffset"] for line in golden.lines("expected.jsonl") if line.get("topic") == "GoldenDel")
    findings, summary = verified(golden.untouched)
    assert [str(each) for each in findings] == [
        (
            "note: consumequeue/GoldenDel/0, GoldenDel queue 0: missing: 1 messages have no consume queue, "
            f"the first at physical offset {deleted}; the topic was deleted"
        )
    ]
    assert summary.state is StoreState.AT_REST
    assert (summary.records, summary.queue_entries, summary.timer_units) == (messages, messages - 1, units)
    assert (summary.check_points, summary.acknowledgements) == ((8, 9) if units else (0, 0))
    entries = [line for line in golden.lines("expected-index.jsonl") if line["type"] == "header"]
    assert summary.index_entries == sum(line["indexCount"] - 1 for line in entries)


def test_our_stores_are_whole(whole: Path) -> None:
    findings, summary = verified(whole)
    assert not findings
    assert summary.records == 85
    assert summary.queue_entries == 73
    assert summary.index_entries > ENTRIES


# --- a wrong byte ---


def queue_entries(root: Path) -> list[Item]:
    return [
        Item(str(file.relative_to(root)), at, at + 20)
        for file in sorted((root / "consumequeue").rglob("0*"))
        if file.is_file()
        for at in range(0, file.stat().st_size, 20)
        if any(file.read_bytes()[at : at + 20])
    ]


def index_items(root: Path) -> list[Item]:
    found = []
    for file in sorted((root / "index").iterdir()):
        *_, count = HEADER_STRUCT.unpack(file.read_bytes()[:HEADER_SIZE])
        path = f"index/{file.name}"
        slots = range(HEADER_SIZE, HEADER_SIZE + SLOTS * SLOT_SIZE, SLOT_SIZE)
        found += [Item(path, at, at + SLOT_SIZE) for at in slots]
        entries_at = HEADER_SIZE + SLOTS * SLOT_SIZE
        found += [
            Item(path, entries_at + number * ENTRY_SIZE, entries_at + (number + 1) * ENTRY_SIZE)
            for number in range(1, count)
        ]
    return found


FLIP = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
#: Bytes of a record that something else in the store contradicts: size, magic, CRC, queue id; queue offset, place.
CHECKED_HEAD = [*range(16), *range(20, 36)]


@FLIP
@given(data=st.data(), value=st.integers(1, 255))
def test_a_wrong_byte_of_a_record_is_found(whole: Path, data: st.DataObject, value: int) -> None:
    item = data.draw(st.sampled_from(records(whole)))
    content = (whole / item.path).read_bytes()[item.start : item.stop]
    message = decode_record(content)
    body = content.index(message.body)
    topic = body + len(message.body)
    # Body, topic and the lengths; where there is a tag, its value too.
    checked = [*CHECKED_HEAD, *range(body - 4, topic + 1 + len(message.topic) + 2)]
    if message.sys_flag & 4:  # a half message has no entry that would show its queue and its offset
        checked = [at for at in checked if not (12 <= at < 16 or 20 <= at < 28)]
    at = data.draw(st.sampled_from(checked))
    base = int(item.path.rpartition("/")[2])
    with flipped(whole / item.path, item.start + at, value):
        found = damages(whole)
    assert found
    for each in found:
        here = each.path == item.path and each.position == item.start
        entry = each.topic is not None and (each.topic, each.queue_id) == (message.topic, message.queue_id)
        # Without its last record the log ends before the checkpoint's times.
        last = each.path == "checkpoint" and item == records(whole)[-1]
        assert here or entry or last or str(base + item.start) in each.what, str(each)


@FLIP
@given(data=st.data(), value=st.integers(1, 255), at=st.integers(0, 19))
def test_a_wrong_byte_of_a_queue_entry_is_found(whole: Path, data: st.DataObject, value: int, at: int) -> None:
    item = data.draw(st.sampled_from(queue_entries(whole)))
    with flipped(whole / item.path, item.start + at, value):
        found = damages(whole)
    assert [(each.path, each.position) for each in found] == [(item.path, item.start)]


@FLIP
@given(data=st.data(), value=st.integers(1, 255))
def test_a_wrong_byte_of_the_index_is_found(whole: Path, data: st.DataObject, value: int) -> None:
    item = data.draw(st.sampled_from(index_items(whole)))
    at = data.draw(st.integers(item.start, item.stop - 1))
    with flipped(whole / item.path, at, value):
        found = damages(whole)
    assert (item.path, item.start) in [(each.path, each.position) for each in found]
    others = [each for each in found if each.path != item.path]
    assert all(each.path == "index" and "not indexed" in each.what for each in others)


def test_an_entry_that_points_before_the_log_is_found(whole: Path) -> None:
    for item in (item for item in index_items(whole) if item.stop - item.start == ENTRY_SIZE):
        with flipped(whole / item.path, item.start + 4, 0x80):  # the sign of its physical offset
            found = damages(whole)
        assert (item.path, item.start) in [(each.path, each.position) for each in found]


@pytest.mark.parametrize("at", range(0, HEADER_SIZE, 3))
def test_a_wrong_byte_of_an_index_header_is_found(whole: Path, at: int) -> None:
    for file in sorted((whole / "index").iterdir()):
        with flipped(file, at, 1):
            assert any(each.path in {f"index/{file.name}", "index"} for each in damages(whole))


def test_an_index_ends_at_a_message_without_keys(tmp_path: Path) -> None:
    settings = small(tmp_path, commit_log_file_size=1 << 16)
    clock = Clock()
    store = open_store(settings, clock)
    store.append([draft(n) for n in range(5)])
    clock.now += 5000
    store.append([draft(n, keys=None, unique_key=None, properties=b"", tags_code=0) for n in range(5)])
    store.close()
    assert not verified(tmp_path)[0]
    (index,) = (tmp_path / "index").iterdir()
    for field in ("end_offset", "end_timestamp"):
        with flipped(index, HEADER_OFFSETS[field] + 7, 1):
            assert {each.path for each in damages(tmp_path)} == {f"index/{index.name}"}


def test_what_is_not_used_is_not_checked(whole: Path) -> None:
    log = min((whole / "commitlog").iterdir())
    content = log.read_bytes()
    with flipped(log, len(content) - 1, 255):
        assert not verified(whole)[0]
    index = min((whole / "index").iterdir())
    with flipped(index, HEADER_SIZE + SLOTS * SLOT_SIZE + 3, 255):
        assert not verified(whole)[0]


def test_a_wrong_blank_is_found(whole: Path) -> None:
    last = [item for item in records(whole) if item.path.endswith("0" * 20)][-1]
    for at in range(8):
        with flipped(whole / last.path, last.stop + at, 1):
            assert [(each.path, each.position) for each in damages(whole)] == [(last.path, last.stop)]


def test_the_checkpoint_is_not_ahead_of_the_log(whole: Path) -> None:
    for at in (0, 8, 16):
        with flipped(whole / "checkpoint", at + 1, 1):
            (found,) = damages(whole)
            assert (found.path, found.position) == ("checkpoint", at)


@pytest.mark.parametrize("version", ["golden_550"])
def test_a_wrong_byte_of_the_timer_is_found(version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    golden: Golden = request.getfixturevalue(version)
    root = golden.copy(tmp_path)
    lines = golden.lines("expected-timer.jsonl")
    log = root / "timerlog" / f"{0:020d}"
    units = [line["offset"] for line in lines if line["type"] == "unit" and line["offset"] < 2548]
    for unit, at in itertools.product(units[::40], (0, 3, 11, 15, 23, 27, 35, 39, 43, 51)):
        with flipped(log, unit + at, 32):
            assert damages(root)
    for slot in [line["byteOffset"] for line in lines if line["type"] == "slot"][::8]:
        for at in (7, 15, 23):
            with flipped(root / "timerwheel", slot + at, 1):
                assert [(each.path, each.position) for each in damages(root)] == [("timerwheel", slot)]
    (blank,) = [line["offset"] for line in lines if line["type"] == "blank"]
    with flipped(log, blank + 7, 1):
        assert [(each.path, each.position) for each in damages(root)] == [(f"timerlog/{log.name}", blank)]


# --- larger damage ---


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("number", [1, -1])
def test_a_missing_commit_log_file(copied: Path, number: int) -> None:
    one = sorted((copied / "commitlog").iterdir())[number]
    lost = sum(item.path.endswith(one.name) for item in records(copied))
    one.unlink()
    found = damages(copied)
    missing = [each.path for each in found if each.path.startswith("commitlog")]
    assert missing == ([f"commitlog/{one.name}"] if number == 1 else [])
    removed = [each for each in found if each.path.startswith("consumequeue")]
    assert 0 < sum(each.count for each in removed) <= lost
    what = "lost: its record" if number == 1 else "behind the end of the log, to "
    assert any(what in each.what for each in removed)


def test_zeros_in_the_middle_of_the_log(copied: Path) -> None:
    item = records(copied)[20]
    path = copied / item.path
    content = bytearray(path.read_bytes())
    content[item.start : item.stop] = bytes(item.stop - item.start)
    path.write_bytes(content)
    first = damages(copied)[0]
    assert (first.path, first.position) == (item.path, item.start)
    assert "size is zero" in first.what


def test_a_missing_queue_file_and_a_missing_queue(copied: Path) -> None:
    queue = copied / "consumequeue" / "T" / "0"
    first = min(queue.iterdir())
    first.unlink()
    assert {(each.topic, each.queue_id) for each in damages(copied)} == {("T", 0)}
    shutil.rmtree(queue)
    (found,) = damages(copied)
    assert found.path == "consumequeue/T/0"
    shutil.rmtree(copied / "consumequeue")
    findings, _ = verified(copied)
    assert {each.kind for each in findings} == {FindingKind.NOTE}
    assert all("the next start makes it" in each.what for each in findings)


def test_a_zeroed_queue_entry(copied: Path) -> None:
    path = copied / "consumequeue" / "T" / "1" / ("0" * 20)
    content = bytearray(path.read_bytes())
    content[40:60] = bytes(20)
    path.write_bytes(content)
    (found,) = damages(copied)
    assert (found.path, found.position, found.offset) == (str(path.relative_to(copied)), 40, 2)
    assert "no entry" in found.what


def test_the_last_entry_of_one_queue_cut_off(copied: Path) -> None:
    item = [item for item in queue_entries(copied) if "/T/1/" in item.path][-1]
    path = copied / item.path
    content = bytearray(path.read_bytes())
    content[item.start : item.stop] = bytes(20)
    path.write_bytes(content)
    (found,) = verified(copied)[0]
    assert (found.path, found.position) == (item.path, item.start)


def test_files_of_wrong_sizes_and_names(copied: Path) -> None:
    log = sorted((copied / "commitlog").iterdir())
    log[-1].write_bytes(log[-1].read_bytes()[:2048])
    (copied / "commitlog" / "readme").touch()
    (copied / "index" / "old").touch()
    (copied / "index" / "20260101000000000").write_bytes(bytes(30))
    queue = copied / "consumequeue" / "T" / "2"
    (queue / f"{100_000:020d}").write_bytes(bytes(320))
    (copied / "checkpoint").write_bytes((copied / "checkpoint").read_bytes()[:100])
    paths = {each.path for each in damages(copied)}
    assert paths >= {
        f"commitlog/{log[-1].name}",
        "index/20260101000000000",
        "checkpoint",
    }
    assert paths.isdisjoint({"commitlog/readme", "index/old"})
    notes = {each.path for each in verified(copied)[0] if each.kind is FindingKind.NOTE}
    assert notes >= {"commitlog/readme", "index/old"}
    assert any(path.startswith("consumequeue/T/2") for path in paths)


def test_config_files(copied: Path) -> None:
    config = copied / "config"
    config.mkdir(exist_ok=True)
    (config / "topics.json").write_bytes(b"{")
    (config / "topics.json.bak").write_bytes(b"{}")
    (config / "consumerOffset.json").write_bytes(b"[1]")
    (config / "delayOffset.json").write_bytes(b"")
    (config / "notes.txt").write_bytes(b"{")
    found = {each.path: each.what for each in damages(copied)}
    assert set(found) == {"config/topics.json", "config/consumerOffset.json"}
    assert found["config/topics.json"].endswith("topics.json.bak is read in its place")


def test_config_files_of_pop(copied: Path) -> None:
    config = copied / "config"
    config.mkdir(exist_ok=True)
    right = {
        "consumerOrderInfo.json": b'{"table":{"T@G":{0:{"o":[1,1],"ot":{1:5}}}}}',
        "messageRequestMode.json": b'{"messageRequestModeMap":{"T":{"G":{"mode":"POP"}}}}',
    }
    for name, text in right.items():
        (config / name).write_bytes(text)
    assert not [each for each in damages(copied) if each.path.startswith("config/")]
    for name, text in right.items():
        (config / name).write_bytes(
            text.replace(b'{"G":{"mode":"POP"}}', b"7").replace(b'{"o":[1,1],"ot":{1:5}}', b"7")
        )
    found = {each.path for each in damages(copied) if each.path.startswith("config/")}
    assert found == {f"config/{name}" for name in right}


def test_a_config_file_that_is_written_over_while_it_is_read_is_no_damage(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = {str(copied / "config" / name) for name in ("topics.json", "subscriptionGroup.json")}
    for path in torn:
        Path(path).write_bytes(b"{}")

    def read(path: str, *rest: Any) -> bytes:
        if path in torn:
            torn.remove(path)
            return b'{"x":'
        return read_whole(path, *rest)

    monkeypatch.setattr(verify_small, "read_whole", read)
    assert damages(copied) == []
    assert torn == set()


# --- after a crash, and alive ---


def test_after_a_crash_what_the_next_start_mends_is_no_damage(tmp_path: Path) -> None:
    with made(tmp_path / "store", crash=True) as root:
        item = [item for item in queue_entries(root) if "/T/1/" in item.path][-1]
        content = bytearray((root / item.path).read_bytes())
        content[item.start : item.stop] = bytes(20)
        (root / item.path).write_bytes(content)
        last = records(root)[-1]
        log = bytearray((root / last.path).read_bytes())
        log[last.stop : last.stop + 50] = b"\x07" * 50
        (root / last.path).write_bytes(log)
        findings, summary = verified(root)
        assert summary.state is StoreState.CRASHED
        assert {each.kind for each in findings} == {FindingKind.NOTE}
        assert {each.path for each in findings} == {"abort", item.path, last.path}


def test_records_behind_the_end_are_a_note_if_nothing_points_to_them(copied: Path) -> None:
    last = records(copied)[-1]
    base = int(last.path.rpartition("/")[2])
    path = copied / last.path
    content = bytearray(path.read_bytes())
    record = bytearray(content[last.start : last.stop])
    at = last.stop + 40
    record[28:36] = struct.pack(">q", base + at)
    record[56:64] = struct.pack(">q", START + 1)
    content[at : at + len(record)] = record
    path.write_bytes(content)
    findings, _ = verified(copied)
    assert len(findings) == 1, [str(each) for each in findings]
    (found,) = findings
    assert (found.kind, found.path, found.position) == (FindingKind.NOTE, last.path, last.stop)
    assert "cuts off" in found.what


def test_a_live_store_is_whole_while_it_grows(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path / "store"), clock)
    fill(store, clock)
    for _ in range(5):
        directory = discover(str(tmp_path / "store"))
        assert directory.state is StoreState.LIVE
        findings: list[Finding] = []
        grown = False

        def progress(_: int) -> None:
            nonlocal grown
            if not grown:
                fill(store, clock, 10)
                grown = True

        summary = verify(directory, findings.append, progress=progress)
        assert not findings
        assert summary.records >= 85


def test_a_deleted_and_remade_topic_is_no_damage(tmp_path: Path) -> None:
    clock = Clock()
    root = tmp_path / "store"
    store = open_store(small(root), clock)
    for number in range(9):
        store.append([draft(number)])
    kill(store)
    shutil.rmtree(root / "consumequeue" / "T")
    # As Apache leaves it: the queue begins again while the log keeps the former messages.
    store = MessageStore(small(root), store._files, clock, HOST, 0)
    del store
    first = records(root)[4]
    content = bytearray((root / first.path).read_bytes())
    for number, item in enumerate(records(root)):
        if number >= 4:
            content[item.start + 20 : item.start + 28] = struct.pack(">q", number - 4)
    (root / first.path).write_bytes(content)
    (root / "abort").unlink()
    queue = root / "consumequeue" / "T" / "0"
    queue.mkdir(parents=True)
    entries = b"".join(
        struct.pack(">qiq", item.start, item.stop - item.start, draft(number).tags_code)
        for number, item in enumerate(records(root))
        if number >= 4
    )
    (queue / ("0" * 20)).write_bytes(entries.ljust(320, b"\0"))
    assert not damages(root)


def test_a_lost_part_of_the_log_is_reported_in_a_few_lines(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path, index_slots=SLOTS, index_entries=1000), clock, Quick())
    fill(store, clock, 600)
    store.close()
    for file in sorted((tmp_path / "commitlog").iterdir())[3:-4]:
        file.unlink()
    index = [each for each in damages(tmp_path) if each.path.startswith("index")]
    (found,) = index
    assert 500 < found.count < 700
    assert found.what.endswith(f"; the same up to entry of no record {int(found.what.split()[1]) + found.count - 1}")


@pytest.mark.parametrize("step", [20, 40])
def test_many_wrong_entries_of_a_queue_and_of_the_index_are_reported_in_a_few_lines(tmp_path: Path, step: int) -> None:
    clock = Clock()
    settings = small(tmp_path, index_slots=SLOTS, index_entries=410, consume_queue_file_size=20 * 500)
    store = open_store(settings, clock, Quick())
    for number in range(400):
        store.append([draft(number)])
    while store.dispatch_index():
        pass
    store.close()
    index = min((tmp_path / "index").iterdir())
    entries = HEADER_SIZE + SLOTS * SLOT_SIZE + ENTRY_SIZE
    for path, first in ((index, entries), (tmp_path / "consumequeue" / "T" / "0" / ("0" * 20), 0)):
        for field in (6, 11, 19):  # place, time or size, chain or tags code
            content = bytearray(path.read_bytes())
            for at in range(first, first + 20 * 400, step):
                content[at + field] ^= 1
            with path.open("r+b") as file:
                former = file.read()
                file.seek(0)
                file.write(content)
            found = damages(tmp_path)
            path.write_bytes(former)
            assert len(found) < 80
            assert sum(each.count for each in found if each.path.endswith(path.name)) >= 8000 // step - 1
