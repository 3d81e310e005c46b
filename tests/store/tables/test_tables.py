"""The tables of config/*.json: kept over a stop, written when they changed, and Apache's own come back as they were."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import ConfigInvalid, StoreGone, StoreNotWritable
from rocketwire.store.tables.consumer_filters import ConsumerFilter, ConsumerFilterTable
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.request_modes import RequestModeTable
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from tests.stepping import finished
from tests.store.crash_disk import refusal
from tests.store.support import START, Clock, Golden


def topics(path: Path, files: FileSystem | None = None) -> TopicTable:
    return TopicTable.open(path / "config" / "topics.json", files, clock=Clock())


def groups(path: Path, files: FileSystem | None = None) -> GroupTable:
    return GroupTable.open(path / "config" / "subscriptionGroup.json", files, clock=Clock())


def offsets(path: Path, files: FileSystem | None = None) -> OffsetTable:
    return OffsetTable.open(path / "config" / "consumerOffset.json", files)


def delay_offsets(path: Path, files: FileSystem | None = None) -> DelayOffsetTable:
    return DelayOffsetTable.open(path / "config" / "delayOffset.json", files)


def filters(path: Path, files: FileSystem | None = None) -> ConsumerFilterTable:
    return ConsumerFilterTable.open(path / "config" / "consumerFilter.json", files)


MAKERS: dict[str, Any] = {
    "topics": topics,
    "subscriptionGroup": groups,
    "consumerOffset": offsets,
    "delayOffset": delay_offsets,
    "consumerFilter": filters,
}
"""Those of which the golden stores have a file."""


def request_modes(path: Path, files: FileSystem | None = None) -> RequestModeTable:
    return RequestModeTable.open(path / "config" / "messageRequestMode.json", files)


def rewritten(root: Path, name: str) -> bytes:
    """The file as the table writes it when nothing but its age changed."""
    table = MAKERS[name](root)
    if isinstance(table, SavedTable):
        table._changed()
    else:
        table._dirty = True
        table.finish()
    table.persist()
    return (root / "config" / f"{name}.json").read_bytes()


def document(root: Path, name: str) -> Any:
    return loads((root / "config" / f"{name}.json").read_bytes())


def test_topics_are_kept(tmp_path: Path) -> None:
    table = topics(tmp_path)
    assert (table.names(), len(table), table.data_version.counter) == ([], 0, 0)
    table.put(TopicConfig(topic_name="A", perm=4))
    table.put(TopicConfig(topic_name="B"))
    table.put(TopicConfig(topic_name="B"))
    assert (table.data_version.counter, table.data_version.timestamp) == (3, START)
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
    assert again.data_version.counter == 4
    again.persist()
    assert topics(tmp_path).names() == ["B"]


def test_what_every_broker_has_is_no_change(tmp_path: Path) -> None:
    table = topics(tmp_path)
    table.put_built_in(TopicConfig(topic_name="Own"))
    table.persist()
    assert not (tmp_path / "config").exists()
    assert (table.data_version.counter, table.data_version.timestamp) == (0, START)
    table.put(TopicConfig(topic_name="A"))
    table.put_built_in(TopicConfig(topic_name="A", perm=2))
    table.persist()
    again = topics(tmp_path)
    assert again.names() == ["Own", "A"]
    assert again.get("A") == TopicConfig(topic_name="A")


def test_listeners_are_notified_of_replacements(tmp_path: Path) -> None:
    table = topics(tmp_path)
    reported: list[list[str]] = []
    table.changed.subscribe(lambda: reported.append(table.names()))
    table.put(TopicConfig(topic_name="A"))
    table.raise_version()
    table.remove("A")
    table.remove("A")
    assert (reported, table.replacements) == ([["A"], []], 2)
    table.put(TopicConfig(topic_name="A"))
    table.put(TopicConfig(topic_name="A"))
    assert (len(reported), table.replacements) == (3, 3)  # not of an addition: what is decided of others stays so


def test_listeners_are_notified_of_each_entry(tmp_path: Path) -> None:
    table = topics(tmp_path)
    reported: list[tuple[str, int]] = []
    table.counted.subscribe(lambda name, more: reported.append((name, more)))
    for name in "OAA":
        table.put_built_in(TopicConfig(topic_name=name))
    table.put(TopicConfig(topic_name="A"))
    table.put(TopicConfig(topic_name="B"))
    table.remove("A")
    assert reported == [("O", 1), ("A", 1), ("B", 1), ("A", -1)]


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


def test_offsets_below_zero_are_kept_and_count_as_none(tmp_path: Path) -> None:
    table = offsets(tmp_path)
    table.commit("G", "T", 0, 5)
    table.commit("G", "T", 0, -1)
    table.commit("G", "T", 1, -(2**63))
    assert [table.query("G", "T", queue_id) for queue_id in (0, 1, 2)] == [None, None, None]
    table.persist()
    again = offsets(tmp_path)
    assert [again.query("G", "T", queue_id) for queue_id in (0, 1)] == [None, None]
    assert again.all() == [("T", "G", {0: -1, 1: -(2**63)})]
    again.commit("G", "T", 0, 0)
    assert again.query("G", "T", 0) == 0


def test_delay_offsets_are_kept(tmp_path: Path) -> None:
    table = delay_offsets(tmp_path)
    assert table.get(3) is None
    for level, offset in ((18, 1), (3, 4), (3, 5)):
        table.put(level, offset)
    table.persist()
    assert (tmp_path / "config" / "delayOffset.json").read_bytes() == b'{\n\t"offsetTable":{3:5,18:1\n\t}\n}'
    again = delay_offsets(tmp_path)
    assert [again.get(level) for level in (3, 4, 18)] == [5, None, 1]
    again.put(3, 5)
    assert again.encode() is None


def test_filters_are_kept(tmp_path: Path) -> None:
    table = filters(tmp_path)
    assert table.get("T", "G") is None
    first = ConsumerFilter(topic="T", consumer_group="G", expression="a > 1", expression_type="SQL92", born_time=START)
    table.put(first)
    table.put(ConsumerFilter(topic="T", consumer_group="H", dead=True, dead_time=START))
    table.persist()
    again = filters(tmp_path)
    assert again.get("T", "G") == first
    assert again.get("T", "H") == table.get("T", "H")
    assert again.get("U", "G") is None
    again.put(first)
    assert again.encode() is None


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_written_when_nothing_changed(tmp_path: Path, name: str) -> None:
    MAKERS[name](tmp_path).persist()
    assert not (tmp_path / "config").exists()


def test_filters_are_found_by_group_and_removed(tmp_path: Path) -> None:
    table = filters(tmp_path)
    made = [ConsumerFilter(topic=topic, consumer_group=group) for topic in "TU" for group in "GH"]
    for each in made:
        table.put(each)
    assert list(table) == made
    assert table.of_group("H") == [made[1], made[3]]
    table.persist()
    table.remove("T", "H")
    table.remove("T", "G")
    assert list(table) == made[2:]
    table.persist()
    for topic, group in (("T", "G"), ("U", "none")):
        table.remove(topic, group)
        assert table.encode() is None
    assert list(filters(tmp_path)) == made[2:]
    assert list(document(tmp_path, "consumerFilter")["filterDataByTopic"]) == ["U"]


@pytest.mark.parametrize("name", MAKERS)
def test_apaches_files_are_written_again_byte_for_byte(golden_497: Golden, tmp_path: Path, name: str) -> None:
    root = golden_497.copy(tmp_path)
    before = (root / "config" / f"{name}.json").read_bytes()
    assert rewritten(root, name) == before
    assert (root / "config" / f"{name}.json.bak").read_bytes() == before


@pytest.mark.parametrize("name", MAKERS)
def test_the_files_of_5x_lose_nothing(golden_550: Golden, tmp_path: Path, name: str) -> None:
    root = golden_550.copy(tmp_path)
    before = document(root, name)
    rewritten(root, name)
    assert document(root, name) == before


def test_a_filter_of_apache_is_read(golden_497: Golden, tmp_path: Path) -> None:
    found = filters(golden_497.copy(tmp_path)).get("GoldenSql", "golden_cg_sql")
    assert found is not None
    assert (found.expression_type, found.dead, found.dead_time - found.born_time) == ("SQL92", True, 86625)
    assert found.bloom_filter_data == {"bitNum": 112, "bitPos": [63, 71, 64]}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("topics", lambda table: table.put(TopicConfig(topic_name="New"))),
        ("subscriptionGroup", lambda table: table.put(SubscriptionGroupConfig(group_name="New"))),
        ("consumerOffset", lambda table: table.commit("G", "T", 0, 1)),
        ("delayOffset", lambda table: table.put(4, 1)),
        ("consumerFilter", lambda table: table.put(ConsumerFilter(topic="GoldenSql", consumer_group="New"))),
    ],
)
def test_what_a_later_version_adds_survives_a_change(
    golden_550: Golden, tmp_path: Path, name: str, change: Any
) -> None:
    root = golden_550.copy(tmp_path)
    path = root / "config" / f"{name}.json"
    text = path.read_bytes().replace(b"{", b'{"zzz":{"a":[1,null]},"aaa":"b",', 1)
    path.write_bytes(
        text.replace(b'"readQueueNums"', b'"later":7,"readQueueNums"').replace(b'"dead"', b'"later":7,"dead"')
    )
    before = document(root, name)
    table = MAKERS[name](root)
    change(table)
    table.persist()
    grown = document(root, name)
    if not isinstance(table, SavedTable):
        table.finish()
    after = document(root, name)
    assert grown == after
    assert list(after) == sorted(after)
    version = after.get("dataVersion")
    if version is not None and name in {"topics", "subscriptionGroup"}:
        assert version.pop("counter") == before["dataVersion"].pop("counter") + 1
        assert version.pop("timestamp") == START
        before["dataVersion"].pop("timestamp")
    assert without_additions(after, before) == before


def without_additions(value: Any, wanted: Any) -> Any:
    if isinstance(value, dict) and isinstance(wanted, dict):
        return {name: without_additions(each, wanted[name]) for name, each in value.items() if name in wanted}
    return value


def test_a_changed_entry_keeps_what_only_5x_has(golden_550: Golden, tmp_path: Path) -> None:
    root = golden_550.copy(tmp_path)
    path = root / "config" / "topics.json"
    path.write_bytes(path.read_bytes().replace(b'"attributes":{}', b'"attributes":{"a":"b"},"later":7'))
    table = topics(root)
    table.put(TopicConfig(topic_name="GoldenOrder", perm=4))
    table.put(TopicConfig(topic_name="GoldenSql", attributes={"c": "d"}))
    assert table.remove("GoldenTx")
    table.put(TopicConfig(topic_name="GoldenTx"))
    table.persist()
    entries = document(root, "topics")["topicConfigTable"]
    assert (entries["GoldenOrder"]["perm"], entries["GoldenOrder"]["attributes"]) == (4, {"a": "b"})
    assert entries["GoldenOrder"]["later"] == 7
    assert list(entries["GoldenOrder"]) == sorted(entries["GoldenOrder"])
    assert entries["GoldenSql"]["attributes"] == {"c": "d"}
    assert entries["GoldenTx"].keys() & {"attributes", "later"} == set()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("delayOffset", b"[]"),
        ("delayOffset", b'{"offsetTable":5}'),
        ("delayOffset", b'{"offsetTable":{1:"x"}}'),
        ("consumerFilter", b"[]"),
        ("consumerFilter", b'{"filterDataByTopic":{"T":5}}'),
        ("consumerFilter", b'{"filterDataByTopic":{"T":{"groupFilterData":{"G":5}}}}'),
        ("topics", b'{"topicConfigTable":5}'),
        ("messageRequestMode", b'{"messageRequestModeMap":{"T":5}}'),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, name: str, text: bytes) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / f"{name}.json").write_bytes(text)
    with pytest.raises(ConfigInvalid, match=name):
        {**MAKERS, "messageRequestMode": request_modes}[name](tmp_path)


class Unwritable(FileSystem):
    broken = True

    def replace(self, path: str, data: bytes) -> None:
        if self.broken:
            raise refusal(errno.ENOSPC)
        super().replace(path, data)


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


def test_offsets_whose_write_was_aborted_are_written_by_the_next(tmp_path: Path) -> None:
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


def test_places_of_removed_offsets_are_freed(tmp_path: Path) -> None:
    table = offsets(tmp_path)
    for number in range(2000):
        table.commit("G", f"T{number}", 0, 1)
    for number in range(1001):
        table.remove("G", f"T{number}")
    assert table.places == 999
    assert len(table.consumptions(0, table.places)) == 999
    assert table.query("G" * 1024, "T", 0) is None


def test_offsets_by_group_and_by_topic(tmp_path: Path) -> None:
    table = offsets(tmp_path)
    for group, topic in (("G", "T"), ("G", "%RETRY%G"), ("H", "T"), ("GG", "TT")):
        table.commit(group, topic, 0, 1)
    assert table.consumptions(0, 2) == [("T", "G"), ("%RETRY%G", "G")]
    assert table.consumptions(2, 9) == [("T", "H"), ("TT", "GG")]
    assert table.all()[1:3] == [("%RETRY%G", "G", {0: 1}), ("T", "H", {0: 1})]
    table.persist()
    assert [table.remove("G", topic) for topic in ("T", "%RETRY%G", "U")] == [True, True, False]
    assert table.consumptions(0, table.places) == [("T", "H"), ("TT", "GG")]
    table.persist()
    assert offsets(tmp_path).consumptions(0, 9) == [("T", "H"), ("TT", "GG")]
    assert offsets(tmp_path).query("H", "T", 0) == 1


@pytest.mark.slow  # the measurement of coverage would be measured
def test_many_offsets_are_made_into_text_in_short_steps(tmp_path: Path) -> None:
    table = offsets(tmp_path)
    for number in range(20_000):
        table.commit(f"G{number}", "T", 0, number)
    changes = iter(range(1_000_000, 2_000_000))
    pieces: list[float] = []
    began = [time.process_time()]

    def between() -> None:
        pieces.append(time.process_time() - began[0])
        table.commit(f"G{next(changes) % 20_000}", "T", 1, 5)
        table.remove(f"G{next(changes) % 20_000}", "T")
        began[0] = time.process_time()

    medians: list[float] = []
    for _ in range(3):  # one has to do: a busy machine slows all steps of a run
        pieces.clear()
        began[0] = time.process_time()
        text, count = finished(table.encode_in_steps(), between)
        assert count > 20
        medians.append(sorted(pieces)[len(pieces) // 2])
    assert min(medians) < 0.02
    assert text is not None
    table.write(text)
    found = offsets(tmp_path)
    assert {key.partition("@")[2] for key in found.keys()}  # noqa: SIM118 - no dict <= {f"G{number}" for number in range(20_000)}
    assert found.query("G10", "T", 0) == 10
    assert table.encode() is not None  # what changed meanwhile is written by the next one
    table.persist()
    assert offsets(tmp_path).all() == table.all()


def test_the_offsets_of_the_brokers_own_groups_are_of_one_moment(tmp_path: Path) -> None:
    table = offsets(tmp_path)

    def advance(offset: int) -> None:
        for topic in ("HALF", "OP"):
            table.put("OWN", topic, 0, offset)

    advance(1)
    for number in range(20_000):
        table.commit(f"G{number}", "T", 0, number)
    table.put("OWN", "LAST", 0, 1)
    numbers = iter(range(2, 1000))

    def between() -> None:
        number = next(numbers)
        advance(number)
        table.put("OWN", "LAST", 0, number)
        table.commit("G19999", "T", 0, -number)

    text, _ = finished(table.encode_in_steps(), between)
    assert text is not None
    table.write(text)
    found = offsets(tmp_path)
    assert {found.query("OWN", topic, 0) for topic in ("HALF", "OP", "LAST")} == {1}
    assert found.query("G19999", "T", 0) != 19_999


def test_filters_are_made_into_text_in_steps(tmp_path: Path) -> None:
    table = filters(tmp_path)
    for number in range(2000):
        table.put(ConsumerFilter(topic=f"T{number}", consumer_group="G", expression="a > 1"))
    text, count = finished(table.encode_in_steps())
    assert text is not None
    assert count > 5
    table.write(text)
    assert list(filters(tmp_path)) == list(table)


@pytest.mark.parametrize("name", MAKERS)
def test_a_table_knows_whether_its_file_should_be_there(tmp_path: Path, name: str) -> None:
    assert not MAKERS[name](tmp_path).has_file
    table = MAKERS[name](tmp_path)
    table.rewrite()
    assert table.has_file
    assert MAKERS[name](tmp_path).has_file


@pytest.mark.parametrize("name", ["topics", "subscriptionGroup"])
def test_a_change_that_is_lost_for_want_of_the_folder_is_known(tmp_path: Path, name: str) -> None:
    """The folder may be back before a check: then the file exists, without the change."""
    entries = {
        "topics": TopicConfig(topic_name="late"),
        "subscriptionGroup": SubscriptionGroupConfig(group_name="late"),
    }
    table = MAKERS[name](tmp_path)
    table.rewrite()
    (tmp_path / "abort").touch()  # a server has it open
    (tmp_path / "config").rename(tmp_path / "away")
    table.put(entries[name])
    for _ in range(2):
        with pytest.raises(StoreGone, match=r"config is gone"):
            table.persist()
        assert table.lost_change
    (tmp_path / "away").rename(tmp_path / "config")
    assert "late" not in MAKERS[name](tmp_path)
    table.rewrite()
    assert not table.lost_change
    assert "late" in MAKERS[name](tmp_path)
