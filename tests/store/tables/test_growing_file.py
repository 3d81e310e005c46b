"""topics.json and subscriptionGroup.json while they grow: whole at every moment, and what they cost."""

from __future__ import annotations

import errno
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import StoreNotWritable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from tests.store.crash_disk import CrashDisk, refusal
from tests.store.disk_images import EVEN, EVERYTHING, NOTHING, after, put
from tests.store.support import Clock

APACHE = """{
\t"dataVersion":{
\t\t"counter":7,
\t\t"timestamp":1700000000000
\t},
\t"topicConfigTable":{%s
\t}
}"""


def entry(name: str, perm: int = 6) -> str:
    return (
        f'\n\t\t"{name}":{{\n\t\t\t"order":false,\n\t\t\t"perm":{perm},\n\t\t\t"readQueueNums":8,\n\t\t\t'
        f'"topicFilterType":"SINGLE_TAG",\n\t\t\t"topicName":"{name}",\n\t\t\t"topicSysFlag":0,\n\t\t\t'
        '"writeQueueNums":8\n\t\t}'
    )


def apache(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(APACHE % ",".join(map(entry, names)))
    return path


def opened(path: Path, files: FileSystem | None = None) -> TopicTable:
    return TopicTable.open(path, files, clock=Clock())


def topic(name: str, perm: int = 6) -> TopicConfig:
    return TopicConfig(topic_name=name, perm=perm)


def add(table: TopicTable, *names: str) -> None:
    for name in names:
        table.put(topic(name))
        table.persist()


def save(table: TopicTable | GroupTable) -> bool:
    saving = table.saving()
    if saving is not None:
        table.save(saving)
    return saving is not None


def names_in(path: Path) -> list[str]:
    return list(loads(path.read_bytes())["topicConfigTable"])


def names_of(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "topics.json"


class Counting(FileSystem):
    """Counts bytes, and what waits for the disk."""

    def __init__(self) -> None:
        self.bytes = 0
        self.syncs = 0
        self.refused: dict[str, OSError] = {}

    def _refuse_if(self, name: str) -> None:
        if name in self.refused:
            raise self.refused[name]

    def read(self, path: str) -> bytes | None:
        data = super().read(path)
        self.bytes += len(data or b"")
        return data

    def write(self, path: str, data: bytes, *, like: str | None = None, durable: bool = True) -> None:
        self._refuse_if("write")
        self.bytes += len(data)
        self.syncs += durable
        super().write(path, data, like=like, durable=durable)

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        if "write_at" in self.refused:
            super().write_at(fd, data[: len(data) // 2], offset)
        self._refuse_if("write_at")
        self.bytes += len(data)
        super().write_at(fd, data, offset)

    def sync_directory(self, path: str) -> None:
        self.syncs += 1
        super().sync_directory(path)

    def exchange(self, path: str, other: str) -> None:
        self._refuse_if("exchange")
        super().exchange(path, other)

    def link(self, path: str, name: str) -> None:
        self._refuse_if("link")
        super().link(path, name)

    def rename(self, path: str, to: str) -> None:
        self._refuse_if("rename")
        super().rename(path, to)


# --- what it costs ---


def test_an_addition_reads_and_writes_only_what_is_new_and_never_waits_for_the_disk(path: Path) -> None:
    apache(path, *(f"T{number}" for number in range(5000)))
    files = Counting()
    table = opened(path, files)
    add(table, "first", "second")
    whole = path.stat().st_size
    files.bytes = files.syncs = 0
    for number in range(100):
        add(table, f"new{number}")
    table.put(topic("new0", 4))
    table.persist()
    table.raise_version()
    table.persist()
    assert (files.bytes < 100 * 1000, files.syncs) == (True, 0)
    assert whole > 500_000
    again = opened(path)
    assert again.configs == table.configs
    assert again.data_version == table.data_version


def processor_time(path: Path, topics: int, rounds: int) -> float:
    """Seconds that one addition takes where there are so many topics."""
    apache(path, *(f"topic-number-{number}" for number in range(topics)))
    table = opened(path)
    add(table, "first", "second")
    took = []
    for part in range(3):
        began = time.process_time()
        add(table, *(f"new-{part}-{number}" for number in range(rounds)))
        took.append((time.process_time() - began) / rounds)
    return min(took)


@pytest.mark.slow
def test_an_addition_costs_less_than_a_millisecond_however_many_topics_there_are(tmp_path: Path) -> None:
    few, some, many = (processor_time(tmp_path / str(n) / "topics.json", n, 100) for n in (100, 10_000, 50_000))
    assert max(few, some, many) < 0.001
    assert max(some, many) < 3 * few + 0.0002


def test_replacing_entries_again_and_again_does_not_make_the_file_large(path: Path) -> None:
    apache(path, *(f"T{number}" for number in range(100)))
    table = opened(path)
    for number in range(3000):
        table.put(topic(f"T{number % 7}", 2 + number % 5))
        table.persist()
    assert path.stat().st_size < 1400 * len(entry("T1")) + 2000
    assert opened(path).configs == table.configs
    assert names_in(path) == table.names()


# --- which files grow ---


@pytest.mark.parametrize("names", [[], ["A"], ["A", "B"]])
def test_apaches_file_grows_as_it_is_and_is_kept_beside_as_it_was(path: Path, names: list[str]) -> None:
    before = apache(path, *names).read_bytes()
    table = opened(path)
    table.put_built_in(topic("Own"))
    add(table, "New")
    assert Path(f"{path}.bak").read_bytes() == before
    assert names_in(path) == [*names, "Own", "New"]
    text = path.read_text()
    assert text.count('"dataVersion"') == 1
    assert text.index('"dataVersion"') > text.index('"New"')
    assert loads(text)["dataVersion"] == {"counter": 8, "timestamp": Clock()()}
    table.finish()
    assert path.read_text().rstrip().endswith("\n\t}\n}")
    assert path.read_text().startswith('{\n\t"dataVersion":{\n\t\t"counter":8,')
    assert names_in(path) == [*names, "Own", "New"]
    assert names_of(path.parent) == ["topics.json", "topics.json.bak"]


@pytest.mark.parametrize(
    "text",
    [
        '{"topicConfigTable":{"A":{"topicName":"A"}}}',
        '{\n\t"topicConfigTable":{\n\t\t"A":{"topicName":"A"}\n\t},\n\t"zzz":{\n\t\t"a":1\n\t}\n}',
        (
            '{\n\t"aaa":{\n\t\t"b":1\n\t},\n\t"dataVersion":{\n\t\t"counter":1\n\t},\n\t"topicConfigTable":'
            '{\n\t\t"A":{"topicName":"A"}\n\t}\n}'
        ),
        (
            '{\n\t"topicConfigTable":{\n\t\t"A":{"topicName":"A"}\n\t},\n\t"zzz":5,\n\t"dataVersion":{\n\t\t"counter":1\n\t}\n'
            "}"
        ),
        '{\n\t"dataVersion":{"counter":1},"zzz":{\n\t},\n\t"topicConfigTable":{\n\t\t"A":{"topicName":"A"}\n\t}\n}',
        '{\n\t"dataVersion":{\n\t},\n\t"topicConfigTable":{\n\t\t"A":{"topicName":"A"}\n\t},\n\t"dataVersion":{\n\t}\n}',
        '{\n\t"dataVersion":{\n\t\t"counter":1\n\t},\n\t"topicConfigTable":{\n\t\t"A":{"topicName":"A"}},"zzz":{\n\t}\n}',
        '{"topicConfigTable":{"A":{"topicName":"A"}},\n\t"dataVersion":{\n\t\t"counter":1\n\t}\n}',
        '{\n  "topicConfigTable": {\n    "A": {"topicName": "A"}\n  }\n}\n',
    ],
)
def test_any_other_text_is_first_written_as_a_whole(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    before = loads(text)
    table = opened(path)
    for number, name in enumerate("BCDE"):
        add(table, name)
        document = loads(path.read_bytes())
        assert list(document["topicConfigTable"]) == ["A", *"BCDE"[: number + 1]]
        assert {key: value for key, value in document.items() if key in {"aaa", "zzz"}} == {
            key: value for key, value in before.items() if key in {"aaa", "zzz"}
        }
    assert opened(path).configs == table.configs


def test_fields_that_only_a_later_version_knows_stay_while_it_grows(path: Path) -> None:
    text = apache(path, "A", "B").read_text()
    text = text.replace('"perm":6', '"later":{\n\t\t\t\t"x":1\n\t\t\t},\n\t\t\t"perm":6').replace(
        '"counter":7', '"counter":7,\n\t\t"odd":{\n\t\t\t"y":[1]\n\t\t}'
    )
    path.write_text(text.replace('{\n\t"data', '{\n\t"aaa":"b",\n\t"data'))
    table = opened(path)
    add(table, "C")
    table.put(topic("A", 4))
    table.persist()
    document = loads(path.read_bytes())
    assert (document["aaa"], document["dataVersion"]["odd"]) == ("b", {"y": [1]})
    assert [document["topicConfigTable"][name].get("later") for name in "ABC"] == [{"x": 1}, {"x": 1}, None]
    assert document["topicConfigTable"]["A"]["perm"] == 4


def test_groups_are_removed_without_being_written_singly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "subscriptionGroup.json"
    table = GroupTable.open(path, clock=Clock())
    for number in range(50):
        table.put(SubscriptionGroupConfig(group_name=f"G{number}"))
    table.persist()
    made: list[str] = []
    real = GroupTable._entry

    def noted(self: GroupTable, name: str, value: SubscriptionGroupConfig) -> bytes:
        made.append(name)
        return real(self, name, value)

    monkeypatch.setattr(GroupTable, "_entry", noted)
    table.remove("G0")
    table.remove("G49")
    table.remove("G7")
    table.put(SubscriptionGroupConfig(group_name="G7", retry_max_times=3))
    table.persist()
    assert made == ["G7"]
    assert GroupTable.open(path, clock=Clock()).configs == table.configs
    for name in table.names():
        table.remove(name)
    table.persist()
    assert GroupTable.open(path, clock=Clock()).names() == []
    table.put(SubscriptionGroupConfig(group_name="again"))
    table.persist()
    assert GroupTable.open(path, clock=Clock()).names() == ["again"]


def test_names_that_look_like_the_text_around_them_are_no_trouble(path: Path) -> None:
    odd = ['a":{', 'topicConfigTable":{', '\n\t"dataVersion":{', "\n\t}\n}", "\\", "空", 'x":"y']
    apache(path, "A")
    table = opened(path)
    for name in odd:
        add(table, name)
    for _ in range(3):
        for name in odd:
            table.put(topic(name, 4))
            table.persist()
    table._entries = 10_000  # so that replaced ones are taken out
    add(table, "B")
    assert opened(path).configs == table.configs
    table.remove(odd[0])
    table.persist()
    assert opened(path).configs == table.configs


# --- faults ---


@pytest.mark.parametrize("name", ["link", "exchange", "write_at"])
def test_what_cannot_be_added_is_written_as_a_whole(path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    files = Counting()
    table = opened(apache(path, "A"), files)
    add(table, "B", "C", "D")
    files.refused[name] = refusal(errno.EPERM)
    add(table, "E", "F")
    assert f"{path} is written as a whole: " in caplog.text
    assert opened(path).names() == list("ABCDEF")
    files.refused.clear()
    add(table, "G", "H")
    assert opened(path).names() == list("ABCDEFGH")


def test_a_full_disk_leaves_the_file_as_it_was_and_the_next_change_writes_all(path: Path) -> None:
    files = Counting()
    table = opened(apache(path, "A"), files)
    add(table, "B", "C", "D")
    before = path.read_bytes()
    for name in ("write", "write_at"):
        files.refused[name] = refusal(errno.ENOSPC)
    table.put(topic("E"))
    for _ in range(2):
        with pytest.raises(StoreNotWritable, match="No space left"):
            table.persist()
    assert path.read_bytes() == before
    files.refused.clear()
    add(table, "F")
    assert opened(path).names() == list("ABCDEF")


def test_a_missing_folder_is_made_again(path: Path) -> None:
    table = opened(apache(path, "A"))
    add(table, "B", "C", "D")
    shutil.rmtree(path.parent)
    add(table, "E", "F")
    assert opened(path).names() == list("ABCDEF")
    assert save(table) in {True, False}
    add(table, "G")
    assert opened(path).names() == list("ABCDEFG")


def test_what_another_process_wrote_is_overwritten(path: Path) -> None:
    table = opened(apache(path, "A"))
    add(table, "B")
    path.write_text("{}")
    add(table, "C")
    assert opened(path).names() == list("ABC")


def test_who_may_not_read_the_file_may_not_read_what_stands_beside_it(path: Path) -> None:
    apache(path, "A").chmod(0o600)
    table = opened(path)
    add(table, "B", "C", "D")
    save(table)
    assert {name: (path.parent / name).stat().st_mode & 0o777 for name in names_of(path.parent)} == {
        "topics.json": 0o600,
        "topics.json.bak": 0o600,
        "topics.json.next": 0o600,
    }


# --- what is on the disk ---


def test_a_save_puts_the_table_as_it_was_into_bak_while_entries_are_added(path: Path) -> None:
    table = opened(apache(path, "A"))
    assert not save(table)
    add(table, "B", "C")
    saving = table.saving()
    assert saving is not None
    version = table.data_version
    add(table, "D", "E")
    table.save(saving)
    document = loads(Path(f"{path}.bak").read_bytes())
    assert (list(document["topicConfigTable"]), document["dataVersion"]["counter"]) == (
        ["A", "B", "C"],
        version.counter,
    )
    assert save(table)
    assert names_in(Path(f"{path}.bak")) == list("ABCDE")
    assert not save(table)


def test_a_save_of_what_was_written_again_meanwhile_is_done_by_the_next(path: Path) -> None:
    table = opened(apache(path, "A", "B", "C"))
    add(table, "D", "E")
    saving = table.saving()
    assert saving is not None
    table.remove("B")
    table.persist()
    table.save(saving)
    assert names_in(Path(f"{path}.bak")) == ["A", "B", "C"]
    assert save(table)
    assert names_in(Path(f"{path}.bak")) == list("ACDE")


def test_of_a_file_and_its_bak_the_newer_one_counts_after_a_crash(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = opened(apache(path, "A"))
    add(table, "B", "C")
    old = path.read_bytes()
    add(table, "D")
    save(table)
    path.write_bytes(old)
    table = opened(path)
    assert table.names() == list("ABCD")
    assert "is older than" in caplog.text
    add(table, "E")
    assert names_in(path) == list("ABCDE")
    assert names_in(Path(f"{path}.bak")) == list("ABCD")
    add(table, "F", "G")
    assert opened(path).names() == list("ABCDEFG")


def test_a_bak_that_cannot_be_read_does_not_keep_a_grown_file_from_being_read(path: Path) -> None:
    table = opened(apache(path, "A"))
    add(table, "B")
    Path(f"{path}.bak").write_bytes(b"{")
    assert opened(path).names() == ["A", "B"]


def test_after_a_kill_it_grows_on(path: Path) -> None:
    table = opened(apache(path, "A"))
    add(table, "B", "C", "D")
    table = opened(path)
    add(table, "E", "F", "G")
    assert names_in(path) == list("ABCDEFG")
    table = opened(path)
    table.finish()
    assert path.read_text().startswith('{\n\t"dataVersion"')
    before = path.stat().st_mtime_ns
    table = opened(path)
    table.finish()
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("crash", [EVERYTHING, NOTHING, EVEN], ids=lambda crash: crash.name)
def test_wherever_it_stops_the_file_is_whole(tmp_path: Path, crash: Any) -> None:
    (tmp_path / "life").mkdir()
    path = tmp_path / "life" / "topics.json"
    path.write_text(APACHE % ",".join(entry(f"T{number}") for number in range(40)))  # more than a page
    disk = CrashDisk(tmp_path / "life")
    table = opened(path, disk)
    answered: list[int] = [40]
    saved: list[int] = [40]
    stops: list[tuple[int, int, Any]] = []
    disk.observer = lambda _step: stops.append((answered[-1], saved[-1], disk.image()))
    for number in range(40, 60):
        add(table, f"T{number}")
        answered.append(number + 1)
        if number % 7 == 0 and save(table):
            saved.append(number + 1)
    assert len(stops) > 200
    for case, (reported, kept, image) in enumerate(stops):
        (tmp_path / str(case)).mkdir()
        put(after(image, crash), tmp_path / str(case))
        found = opened(tmp_path / str(case) / "topics.json").names()
        assert found == [f"T{number}" for number in range(len(found))]
        assert (reported if crash is EVERYTHING else kept) <= len(found) <= reported + 1
        shutil.rmtree(tmp_path / str(case))


def test_a_change_that_is_in_the_file_is_not_refused_because_replaced_entries_cannot_be_cleared(tmp_path: Path) -> None:
    path = apache(tmp_path / "topics.json", "A", "X")
    files = Counting()
    table = opened(path, files)
    table.raise_version()
    table.persist()
    table.raise_version()
    table.persist()
    table._entries += 1500
    files.refused["write"] = refusal(errno.EIO)
    table.put(topic("A", 2))
    table.persist()
    assert opened(path).configs == table.configs
    files.refused.clear()
    table.put(topic("A", 4))
    table.persist()
    assert opened(path).configs == table.configs
    assert path.read_text().count('"A":') == 1


NAMES = st.sampled_from(["A", "B", "C", "D", 'q"', "空", "a\\"])


class Growing(RuleBasedStateMachine):
    """Changes in any order, with kills, stops, saves and faults: the file always agrees with the table."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = apache(Path(self.folder.name) / "config" / "topics.json", "A", "X")
        self.files = Counting()
        self.table = opened(self.path, self.files)
        self.written = dict(self.table.configs)
        self.held: Any = None

    @rule(names=st.lists(NAMES, max_size=3), perm=st.integers(0, 7))
    def change(self, names: list[str], perm: int) -> None:
        for name in names:
            self.table.put(topic(name, perm))
        self.table.persist()
        self.written = dict(self.table.configs)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.table.remove(name)
        self.table.persist()
        self.written = dict(self.table.configs)

    @rule()
    def raise_version(self) -> None:
        self.table.raise_version()
        self.table.persist()
        self.written = dict(self.table.configs)

    @rule()
    def crowd(self) -> None:
        self.table._entries += 1500

    @rule(name=NAMES, refused=st.sampled_from(["write", "write_at", "link", "exchange", "rename"]))
    def fail(self, name: str, refused: str) -> None:
        self.files.refused[refused] = refusal(errno.EIO)
        self.table.put(topic(name))
        try:
            self.table.persist()
        except StoreNotWritable:
            pass
        else:
            self.written = dict(self.table.configs)
        self.files.refused.clear()

    @rule()
    def begin_to_save(self) -> None:
        self.held = self.table.saving()

    @rule()
    def save(self) -> None:
        if self.held is not None:
            self.table.save(self.held)
            self.held = None

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        if clean:
            self.table.finish()
            self.written = dict(self.table.configs)
        self.table = opened(self.path, self.files)
        self.held = None

    @invariant()
    def the_file_agrees_with_the_table(self) -> None:
        found = opened(self.path)
        assert found.configs == self.written
        for beside in (self.path, Path(f"{self.path}.bak")):
            if beside.exists():
                loads(beside.read_bytes())

    def teardown(self) -> None:
        self.folder.cleanup()


TestGrowing = Growing.TestCase
TestGrowing.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("removed", [["A"], ["B"], ["C"], ["A", "C"], ["B", "C"], ["A", "B", "C"]])
@pytest.mark.parametrize("changed", [[], ["B"]])
def test_any_entry_is_taken_out(path: Path, removed: list[str], changed: list[str]) -> None:
    table = opened(path)
    add(table, "A", "B", "C")
    for name in changed:
        add(table, name)  # it is in the file twice now
    add(table, "Last")
    for name in ["Last", *removed]:
        assert table.remove(name)
    table.persist()
    left = [name for name in "ABC" if name not in removed]
    assert sorted(names_in(path)) == left
    assert sorted(opened(path).names()) == left
    add(table, "D")
    assert sorted(opened(path).names()) == [*left, "D"]
