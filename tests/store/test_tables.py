"""config/*.json: as Apache writes them, replaced whole, and read back from the .bak when needed."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from rocketwire.store.errors import ConfigInvalid, StoreNotWritable
from rocketwire.store.files import RealFileSystem
from rocketwire.store.groups import GroupTable
from rocketwire.store.offsets import OffsetTable
from rocketwire.store.topics import TopicTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from tests.store.fakes import refusal
from tests.store.support import START, Clock, Golden


def topics(path: Path, files: RealFileSystem | None = None) -> TopicTable:
    return TopicTable.open(path / "config" / "topics.json", files, clock=Clock())


def groups(path: Path, files: RealFileSystem | None = None) -> GroupTable:
    return GroupTable.open(path / "config" / "subscriptionGroup.json", files, clock=Clock())


def offsets(path: Path, files: RealFileSystem | None = None) -> OffsetTable:
    return OffsetTable.open(path / "config" / "consumerOffset.json", files)


def test_topics_are_kept(tmp_path: Path) -> None:
    table = topics(tmp_path)
    assert (table.names(), len(table), table.data_version.counter) == ([], 0, 0)
    table.put(TopicConfig(topic_name="A", perm=4))
    table.put(TopicConfig(topic_name="B"))
    table.put(TopicConfig(topic_name="B"))
    assert (table.data_version.counter, table.data_version.timestamp) == (2, START)
    table.persist()
    again = topics(tmp_path)
    assert again.names() == ["A", "B"]
    assert again.get("A") == TopicConfig(topic_name="A", perm=4)
    assert again.get("C") is None
    assert "B" in again
    assert [each.topic_name for each in again] == ["A", "B"]
    assert again.data_version == table.data_version
    assert again.configs == table.configs
    assert again.wrapper() == table.wrapper()
    assert again.remove("A")
    assert not again.remove("A")
    assert again.data_version.counter == 3
    again.persist()
    assert topics(tmp_path).names() == ["B"]


def test_groups_are_kept(tmp_path: Path) -> None:
    table = groups(tmp_path)
    table.put(SubscriptionGroupConfig(group_name="G"))
    table.put(SubscriptionGroupConfig(group_name="H", retry_max_times=3))
    assert table.data_version.counter == 2
    table.persist()
    again = groups(tmp_path)
    assert (again.names(), len(again), "G" in again) == (["G", "H"], 2, True)
    assert again.get("H") == table.get("H")
    assert [each.group_name for each in again] == ["G", "H"]
    assert again.configs == table.configs
    assert again.remove("G")
    assert not again.remove("G")
    again.persist()
    assert groups(tmp_path).names() == ["H"]


def test_offsets_are_kept(tmp_path: Path) -> None:
    table = offsets(tmp_path)
    assert table.query("G", "T", 0) is None
    table.commit("G", "T", 0, 5)
    table.commit("G", "T", 3, 7)
    table.commit("G", "%RETRY%G", 0, 1)
    table.commit("H", "T", 0, 9)
    assert table.query("G", "T", 1) is None
    table.persist()
    again = offsets(tmp_path)
    assert again.query("G", "T", 3) == 7
    assert again.query("G", "T", 0) == 5
    assert again.query("H", "T", 0) == 9
    assert again.remove("G", "T")
    assert not again.remove("G", "T")
    assert again.query("G", "T", 3) is None
    again.persist()
    assert offsets(tmp_path).query("G", "T", 0) is None
    assert offsets(tmp_path).query("G", "%RETRY%G", 0) == 1


def test_nothing_is_written_when_nothing_changed(tmp_path: Path) -> None:
    for table in (topics(tmp_path), groups(tmp_path), offsets(tmp_path)):
        table.persist()
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize("name", ["topics", "subscriptionGroup", "consumerOffset"])
def test_apaches_files_are_written_again_byte_for_byte(golden_497: Golden, tmp_path: Path, name: str) -> None:
    root = golden_497.copy(tmp_path)
    path = root / "config" / f"{name}.json"
    before = path.read_bytes()
    makers: dict[str, Callable[[Path], TopicTable | GroupTable | OffsetTable]] = {
        "topics": topics,
        "subscriptionGroup": groups,
        "consumerOffset": offsets,
    }
    table = makers[name](root)
    if isinstance(table, OffsetTable):
        table._version += 1
    else:
        table._dirty = True
    table.persist()
    assert path.read_bytes() == before
    assert path.with_name(path.name + ".bak").read_bytes() == before


def test_what_5x_adds_is_kept(golden_550: Golden, tmp_path: Path) -> None:
    root = golden_550.copy(tmp_path)
    table = offsets(root)
    table.commit("G", "T", 0, 1)
    table.persist()
    assert b"groupTopicMap" in (root / "config" / "consumerOffset.json").read_bytes()
    assert topics(root).names()
    assert groups(root).names()


@pytest.mark.parametrize("damage", [b"", b"  \n", b"{", b'{"offsetTable":{"T@G":5}}', b'{"offsetTable":7}', None])
def test_a_damaged_file_is_read_from_its_bak(tmp_path: Path, damage: bytes | None) -> None:
    table = offsets(tmp_path)
    table.commit("G", "T", 0, 5)
    table.persist()
    table.commit("G", "T", 0, 6)
    table.persist()
    path = tmp_path / "config" / "consumerOffset.json"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert offsets(tmp_path).query("G", "T", 0) == 5


def test_a_file_that_nothing_replaces_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "topics.json").write_bytes(b"not json")
    with pytest.raises(ConfigInvalid, match=r"topics\.json") as refused:
        topics(tmp_path)
    assert "\n" not in str(refused.value)


class Unwritable(RealFileSystem):
    broken = True

    def replace(self, path: str, data: bytes) -> None:
        if self.broken:
            raise refusal(errno.ENOSPC)
        super().replace(path, data)


class Unreadable(RealFileSystem):
    def read(self, path: str) -> bytes | None:
        raise refusal(errno.EACCES)


def test_a_change_that_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    files = Unwritable()
    tables = (topics(tmp_path, files), groups(tmp_path, files), offsets(tmp_path, files))
    tables[0].put(TopicConfig(topic_name="A"))
    tables[1].put(SubscriptionGroupConfig(group_name="G"))
    tables[2].commit("G", "A", 0, 1)
    for table in tables:
        with pytest.raises(StoreNotWritable, match="No space left"):
            table.persist()
    files.broken = False
    for table in tables:
        table.persist()
    assert topics(tmp_path).names() == ["A"]
    assert groups(tmp_path).names() == ["G"]
    assert offsets(tmp_path).query("G", "A", 0) == 1


def test_offsets_whose_write_was_given_up_are_written_by_the_next(tmp_path: Path) -> None:
    table = offsets(tmp_path)
    table.commit("G", "T", 0, 5)
    assert table.encode() is not None  # and the task is cancelled before a thread writes it
    table.persist()
    assert offsets(tmp_path).query("G", "T", 0) == 5
    assert table.encode() is None


def test_offsets_committed_during_a_write_are_written_by_the_next(tmp_path: Path) -> None:
    table = offsets(tmp_path)
    table.commit("G", "T", 0, 5)
    text = table.encode()
    assert text is not None
    table.commit("G", "T", 0, 6)
    table.write(text)
    assert offsets(tmp_path).query("G", "T", 0) == 5
    table.persist()
    assert offsets(tmp_path).query("G", "T", 0) == 6
    assert table.encode() is None


def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match="Permission denied"):
        topics(tmp_path, Unreadable())
