"""A repaired store has exactly the records that were whole, where they were, and nothing wrong in it."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocketwire.store.errors import DiskFull, StoreForeign, StoreLocked, StoreNotWritable
from rocketwire.store.layout.consume_queue import HIGHEST_EXT_ADDRESS
from rocketwire.store.offline.repair import doubtful
from rocketwire.store.offline.repair.repair import RepairResult, repair
from rocketwire.store.offline.verify.filler import is_filler
from rocketwire.store.offline.verify.findings import Finding, FindingKind
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import decode_record
from rocketwire.wire.properties import decode_properties
from tests.store.offline.support import ENTRIES, SLOTS, Quick, damages, fill, made, records, verified
from tests.store.support import Clock, Golden, bodies, draft, open_store, small


def repaired(root: Path, target: Path) -> tuple[RepairResult, list[Finding]]:
    findings: list[Finding] = []
    result = repair(str(root), str(target), findings.append, clock=Clock(), files=Quick())
    assert not damages(target), [str(each) for each in damages(target)]
    assert not (target / "abort").exists()
    return result, findings


def unexpected(finding: Finding) -> None:
    pytest.fail(str(finding))


def contents(root: Path) -> dict[int, bytes]:
    """Records by physical offset; fillers are none."""
    found = {}
    for item in records(root):
        content = (root / item.path).read_bytes()[item.start : item.stop]
        message = decode_record(content, check_crc=False)
        if not is_filler(message.topic, message.sys_flag):
            found[int(item.path.rpartition("/")[2]) + item.start] = content
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with made(tmp_path_factory.mktemp("repair") / "store") as root:
        yield root


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "store")
    return tmp_path / "store"


def overwrite(root: Path, path: str, start: int, data: bytes) -> None:
    with (root / path).open("r+b") as file:
        file.seek(start)
        file.write(data)


def test_a_whole_store_is_only_copied(whole: Path, tmp_path: Path) -> None:
    result, findings = repaired(whole, tmp_path / "new")
    assert not findings
    assert result == RepairResult(records=85, filled=0, filled_bytes=0, lost=0, retagged=0, rekeyed=0)
    for part in ("commitlog", "consumequeue"):
        for file in sorted((whole / part).rglob("0*")):
            if file.is_file():
                assert (tmp_path / "new" / file.relative_to(whole)).read_bytes() == file.read_bytes()


def replaced(root: Path, number: int, old: bytes, new: bytes) -> tuple[str, int]:
    """Overwrite a part of a record; give where it begins."""
    item = records(root)[number]
    at = (root / item.path).read_bytes()[: item.stop].index(old, item.start)
    overwrite(root, item.path, at, new)
    return item.path, item.start


def code_in_entry(root: Path, queue_id: int, offset: int) -> int:
    files = sorted((root / "consumequeue" / "T" / str(queue_id)).iterdir())
    data = b"".join(file.read_bytes() for file in files)
    return int.from_bytes(data[offset * 20 + 12 : offset * 20 + 20], signed=True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"TAGS\x01Tag1", b"TAGS\x01Tag2", "the tag 'Tag2'"),
        (b"TAGS\x01Tag1", b"TBGS\x01Tag1", "no tag"),
        (b"TAGS\x01Tag1", b"TAGS\x01T\n\xff1", "the tag 'T\\n\ufffd1'"),
    ],
)
def test_a_record_of_another_tag_than_its_entry_is_named_with_both(
    copied: Path, tmp_path: Path, old: bytes, new: bytes, said: str
) -> None:
    path, start = replaced(copied, 22, old, new)  # T queue 1 offset 6
    record = decode_record((copied / path).read_bytes()[start:], check_crc=False)
    tag = decode_properties(record.properties.decode("utf-8", "replace")).get("TAGS", "")
    result, findings = repaired(copied, tmp_path / "new")
    assert (result.records, result.lost, result.retagged) == (85, 0, 1)
    (finding,) = findings
    assert (finding.kind, finding.path, finding.position) == (FindingKind.DAMAGE, path, start)
    assert (finding.topic, finding.queue_id, finding.offset, finding.count) == ("T", 1, record.queue_offset, 1)
    assert finding.what == (
        f"its record has {said} (tags code {string_hash(tag)}), its queue entry the tags code {string_hash('Tag1')}: "
        "one of the two is wrong; the new entry is made from the record"
    )
    assert code_in_entry(tmp_path / "new", 1, record.queue_offset) == string_hash(tag)


def test_entries_of_another_tag_than_their_records_are_reported_in_rows(copied: Path, tmp_path: Path) -> None:
    file = min((copied / "consumequeue" / "T" / "0").iterdir())
    for offset in (2, 3, 4, 8):
        overwrite(copied, str(file.relative_to(copied)), offset * 20 + 12, bytes(8))
    result, findings = repaired(copied, tmp_path / "new")
    assert (result.lost, result.retagged) == (0, 4)
    assert [(each.queue_id, each.offset, each.count) for each in findings] == [(0, 2, 3), (0, 8, 1)]
    assert code_in_entry(tmp_path / "new", 0, 2) != 0


def test_a_record_with_other_keys_than_its_index_entry_is_named(copied: Path, tmp_path: Path) -> None:
    place, size = index_entry(copied, 3)
    file = min((copied / "index").iterdir())
    overwrite(copied, f"index/{file.name}", place, (12345).to_bytes(4))
    result, (finding,) = repaired(copied, tmp_path / "new")
    assert (result.records, result.retagged, result.rekeyed) == (85, 0, 1)
    assert (finding.kind, finding.path, finding.position) == (FindingKind.DAMAGE, f"commitlog/{0:020d}", size)
    assert finding.topic == "T"
    assert re.fullmatch(
        r"its record has the keys '.*', an index entry the hash 12345 of none of them: one of the two is wrong; "
        "the new entry is made from the record",
        finding.what,
    )


def test_many_records_with_other_keys_are_counted(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doubtful, "MOST", 3)
    file = min((copied / "index").iterdir())
    for number in range(1, 20):
        overwrite(copied, f"index/{file.name}", index_entry(copied, number)[0], (12345).to_bytes(4))
    result, findings = repaired(copied, tmp_path / "new")
    assert result.rekeyed > 4
    assert len(findings) == 4
    assert findings[-1].what == f"{result.rekeyed - 3} more records have keys that their index entries do not have"
    assert findings[-1].count == result.rekeyed - 3


def index_entry(root: Path, number: int) -> tuple[int, int]:
    """Where an entry of the first index file is, and the physical offset in it."""
    file = min((root / "index").iterdir())
    place = 40 + SLOTS * 4 + number * 20
    return place, int.from_bytes(file.read_bytes()[place + 4 : place + 12])


def test_a_place_in_a_queue_extension_is_not_taken_for_a_tag(copied: Path, tmp_path: Path) -> None:
    (copied / "consumequeue_ext").mkdir()
    file = min((copied / "consumequeue" / "T" / "0").iterdir())
    overwrite(copied, str(file.relative_to(copied)), 2 * 20 + 12, HIGHEST_EXT_ADDRESS.to_bytes(8, signed=True))
    result, findings = repaired(copied, tmp_path / "new")
    assert (result.retagged, findings) == (0, [])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_exactly_the_undamaged_records_are_kept(
    whole: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    work = tmp_path_factory.mktemp("damaged")
    root = work / "store"
    shutil.copytree(whole, root)
    items = records(root)
    chosen = data.draw(st.sets(st.integers(0, len(items) - 1), min_size=1, max_size=6))
    expected = contents(root)
    for number in sorted(chosen):
        item = items[number]
        at, value = data.draw(
            st.sampled_from([(0, b"\0\0\0\0"), (0, b"\x7f"), (4, b"\x01"), (29, b"\x55"), (10, b"\xff\x00")])
        )
        overwrite(root, item.path, item.start + at, value)
        del expected[int(item.path.rpartition("/")[2]) + item.start]
    result, findings = repaired(root, work / "new")
    assert contents(work / "new") == expected
    assert result.records == len(expected)
    lost = [each for each in findings if each.what == "lost"]
    half = sum(number % 7 == 5 for number in chosen)
    assert sum(each.count for each in lost) == result.lost == len(chosen) - half
    # And a broker serves the rest.
    store = open_store(small(work / "new", index_slots=SLOTS, index_entries=ENTRIES))
    assert store.append([draft(1000)])
    store.close()
    assert not damages(work / "new")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_overwritten_the_repaired_log_has_no_damage(
    whole: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    work = tmp_path_factory.mktemp("overwritten")
    root = work / "store"
    shutil.copytree(whole, root)
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.stat().st_size)
    overwritten = set()
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from(files))
        at = data.draw(st.integers(0, (root / path).stat().st_size - 1))
        overwrite(root, path, at, data.draw(st.one_of(st.binary(min_size=1, max_size=40), st.just(bytes(300)))))
        overwritten.add(path.partition("/")[0])
    verified(root)
    repair(str(root), str(work / "new"), lambda _: None, clock=Clock(), files=Quick())
    sure: tuple[str, ...] = ("commitlog", "index")
    if not overwritten >= {"commitlog", "consumequeue"}:
        # A record's place in a queue has no checksum: without an entry that shows another one it is accepted.
        sure = (*sure, "consumequeue")
    assert not [str(each) for each in damages(work / "new") if each.path.startswith(sure)]


@pytest.mark.parametrize("number", [0, 20, 21, 22, 84])
@pytest.mark.parametrize(
    ("at", "value"),
    [(20, bytes(8)), (20, b"\xff" * 8), (27, b"\x70"), (12, b"\0\0\0\x07"), (12, b"\xff" * 4)],
    ids=["offset 0", "offset -1", "far", "queue 7", "queue -1"],
)
def test_a_record_with_a_wrong_place_in_its_queue_is_lost(
    copied: Path, tmp_path: Path, number: int, at: int, value: bytes
) -> None:
    item = records(copied)[number]
    content = (copied / item.path).read_bytes()[item.start : item.stop]
    if content[at : at + len(value)] == value:
        return  # its true place
    expected = contents(copied)
    del expected[int(item.path.rpartition("/")[2]) + item.start]
    overwrite(copied, item.path, item.start + at, value)
    result, findings = repaired(copied, tmp_path / "new")
    assert contents(tmp_path / "new") == expected
    assert result.records == 84
    assert [(each.path, each.position) for each in findings if each.what.startswith("it says")] == [
        (item.path, item.start)
    ]
    assert sum(each.count for each in findings if each.what == "lost") == result.lost == 1
    times = [
        decode_record((tmp_path / "new" / each.path).read_bytes()[each.start : each.stop]).store_timestamp
        for each in records(tmp_path / "new")
    ]
    assert times == sorted(times)
    assert min(times) > 0


def test_a_record_with_another_topic_is_lost(copied: Path, tmp_path: Path) -> None:
    item = records(copied)[21]
    content = (copied / item.path).read_bytes()[item.start : item.stop]
    message = decode_record(content)
    topic = content.index(message.body) + len(message.body) + 1
    overwrite(copied, item.path, item.start + topic, b"U")
    result, _ = repaired(copied, tmp_path / "new")
    assert result.records == 84
    assert not (tmp_path / "new" / "consumequeue" / "U").exists()


@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_missing_commit_log_file(copied: Path, tmp_path: Path, number: int) -> None:
    expected = contents(copied)
    missing = sorted((copied / "commitlog").iterdir())[number]
    missing.unlink()
    start = int(missing.name)
    repaired(copied, tmp_path / "new")
    assert contents(tmp_path / "new") == {
        offset: record for offset, record in expected.items() if not start <= offset < start + 4096
    }


def test_a_file_cut_short(copied: Path, tmp_path: Path) -> None:
    expected = contents(copied)
    first = min((copied / "commitlog").iterdir())
    first.write_bytes(first.read_bytes()[:1000])
    repaired(copied, tmp_path / "new")
    found = contents(tmp_path / "new")
    assert found == {offset: record for offset, record in expected.items() if offset in found}
    assert min(offset for offset in expected if offset not in found) < 1000
    assert all(offset in found for offset in expected if offset >= 4096)


def test_everything_else_is_made_again_or_copied(copied: Path, tmp_path: Path) -> None:
    (copied / "config").mkdir(exist_ok=True)
    (copied / "config" / "topics.json").write_text('{"topicConfigTable":{"T":{}}}')
    (copied / "timerlog").mkdir()
    (copied / "other" / "deep").mkdir(parents=True)
    (copied / "other" / "deep" / "file").write_bytes(bytes(5 << 20) + b"end")
    for part in ("consumequeue", "index"):
        shutil.rmtree(copied / part)
    (copied / "checkpoint").write_bytes(b"?")
    (copied / "abort").touch()
    result, _ = repaired(copied, tmp_path / "new")
    assert result.records == 85
    copy = tmp_path / "new" / "other" / "deep" / "file"
    assert copy.read_bytes() == bytes(5 << 20) + b"end"
    assert copy.stat().st_blocks * 512 < 1 << 20
    store = open_store(
        small(tmp_path / "new", index_slots=5_000_000, index_entries=20_000_000, consume_queue_file_size=6_000_000)
    )
    assert bodies(store, "T", 0)


def test_after_a_crash_whole_records_behind_a_torn_one_are_kept(tmp_path: Path) -> None:
    with made(tmp_path / "store", crash=True) as root:
        items = records(root)
        expected = contents(root)
        torn = items[-4]
        # Nothing but the log was on the disk: no queue knows of the last messages.
        overwrite(root, torn.path, torn.start, bytes(8))
        shutil.rmtree(root / "consumequeue")
        repaired(root, tmp_path / "new")
        del expected[int(torn.path.rpartition("/")[2]) + torn.start]
        assert contents(tmp_path / "new") == expected


def test_what_is_behind_the_end_is_not_copied(copied: Path, tmp_path: Path) -> None:
    last = records(copied)[-1]
    overwrite(copied, last.path, last.stop, b"\x07" * 40)
    expected = contents(copied)
    repaired(copied, tmp_path / "new")
    assert contents(tmp_path / "new") == expected
    assert not any((tmp_path / "new" / last.path).read_bytes()[last.stop :])


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_apaches_stores(version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    golden: Golden = request.getfixturevalue(version)
    root = golden.copy(tmp_path)
    expected = contents(root)
    items = records(root)
    for number in (100, 101, 300, 700):
        overwrite(root, items[number].path, items[number].start + 28, b"\x01")
        del expected[int(items[number].path.rpartition("/")[2]) + items[number].start]
    result, findings = repaired(root, tmp_path / "new")
    assert contents(tmp_path / "new") == expected
    assert (result.records, result.filled) == (len(expected), 3)
    assert {each.kind for each in findings} == {FindingKind.DAMAGE}
    assert (tmp_path / "new" / "config" / "topics.json").read_bytes() == (root / "config" / "topics.json").read_bytes()
    assert not (tmp_path / "new" / "consumequeue" / "GoldenDel").exists()
    notes = [str(each) for each in verified(tmp_path / "new")[0]]
    assert all("GoldenDel" in note or "there are no such messages" in note or "lost" in note for note in notes)
    if version == "golden_550":
        for name in ("timerwheel", "timerlog/" + "0" * 20, "config/timercheck"):
            assert (tmp_path / "new" / name).read_bytes() == (root / name).read_bytes()


def test_a_store_in_use_is_not_touched(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path / "store"), clock)
    fill(store, clock, 3)
    with pytest.raises(StoreLocked):
        repair(str(tmp_path / "store"), str(tmp_path / "new"), unexpected, clock=clock)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("target", ["store", "store/new", ".", "full", "file"])
def test_where_a_store_cannot_be_repaired_to(whole: Path, target: str, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(whole, root)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "file").touch()
    with pytest.raises(StoreForeign):
        repair(str(root), str(tmp_path / target), unexpected, clock=Clock())


def test_an_empty_directory_is_fine(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    repaired(whole, tmp_path / "new")


class RefusingDisk(Quick):
    """Refuses the write number `at`, counted over all files."""

    def __init__(self, at: int, code: int) -> None:
        self.left = at
        self.code = code

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(self.code, os.strerror(self.code))
        super().write_at(fd, data, offset)


@pytest.mark.parametrize("at", range(4))
def test_a_full_disk_is_one_error_and_the_old_store_stays_as_it_was(whole: Path, tmp_path: Path, at: int) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    for code, error in ((errno.ENOSPC, DiskFull), (errno.EIO, StoreNotWritable)):
        target = tmp_path / str(code)
        with pytest.raises(error):
            repair(str(whole), str(target), unexpected, clock=Clock(), files=RefusingDisk(at, code))
        # What there is cannot be taken for a repaired store.
        assert (target / "abort").exists()
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before
