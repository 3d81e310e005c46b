"""Of `plan` and `select`: every way finds the same as reading every message."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.offline.plan import plan as plan_module
from rocketwire.store.offline.plan.plan import SearchById, SearchByKey, SearchLog, SearchQueues, find, plan
from rocketwire.store.offline.plan.select import FOREVER, MessageConditions
from rocketwire.store.offline.read import scan as scan_module
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory, StoreState, discover
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.offline.read.scan import ReadProblem
from rocketwire.store.offline.read.selected import SelectedMessage
from rocketwire.store.store import MessageStore
from rocketwire.wire.compression import decompress
from tests.store.support import START, Clock, Golden, descriptors, draft, kill, open_store, small

TOPICS = ["A", "B", "rmq_sys_C", "%RETRY%g"]
MINUTE = 60_000
COUNT = 300


def everything(directory: StoreDirectory) -> list[SelectedMessage]:
    troubles: list[ReadProblem] = []
    found = list(SearchLog(directory, MessageConditions(system_topics=True)).run(troubles.append))
    assert troubles == []
    return found


def unexpected(trouble: ReadProblem) -> None:
    raise AssertionError(trouble)


def places(found: Iterator[SelectedMessage] | list[SelectedMessage]) -> list[int]:
    return [one.message.physical_offset for one in found]


def looked_for(directory: StoreDirectory, **wanted: Any) -> tuple[type, list[int], list[ReadProblem]]:
    troubles: list[ReadProblem] = []
    planned = plan(directory, MessageConditions(**wanted), troubles.append)
    return type(planned), places(planned.run(troubles.append)), troubles


def written(root: Path) -> None:
    clock = Clock()
    store = open_store(small(root, commit_log_file_size=8192), clock)
    for number in range(COUNT):
        # Now and then the clock is set back.
        clock.now += 3_000 if number % 29 else -20_000
        topic, queue_id = TOPICS[number % 4], number % 3
        text = f"UNIQ_KEY\x01U{number:07d}\x02KEYS\x01k{number % 17} all"
        tags = f"\x02TAGS\x01t{number % 5}" if number % 5 else ""
        one = draft(
            number,
            topic=topic,
            queue_id=queue_id,
            properties=(text + tags).encode(),
            keys=f"k{number % 17} all",
        )
        store.append([one])
    store.close()


@pytest.fixture(scope="module", params=["clean", "no queues", "no index", "half an index", "crashed", "live"])
def generated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreDirectory]:
    root = tmp_path_factory.mktemp("generated")
    written(root)
    if request.param == "no queues":
        shutil.rmtree(root / "consumequeue")
    if request.param == "no index":
        shutil.rmtree(root / "index")
    if request.param == "half an index":
        for path in sorted((root / "index").iterdir())[::2]:
            path.unlink()
    if request.param == "crashed":
        (root / "abort").touch()
        shutil.rmtree(root / "consumequeue" / "A" / "0")
    store = open_store(small(root, commit_log_file_size=8192)) if request.param == "live" else None
    directory = discover(str(root))
    assert directory.state is {"crashed": StoreState.CRASHED, "live": StoreState.LIVE}.get(
        request.param, StoreState.AT_REST
    )
    yield directory
    if store is not None:
        kill(store)


times = st.integers(START - 5 * MINUTE, START + 15 * MINUTE)
conditions = st.fixed_dictionaries(
    {},
    optional={
        "topics": st.frozensets(st.sampled_from([*TOPICS, "none"]), min_size=1),
        "system_topics": st.booleans(),
        "queue_ids": st.frozensets(st.integers(0, 3), min_size=1),
        "first_offset": st.integers(0, 30),
        "end_offset": st.integers(0, 30),
        "since": times,
        "until": times,
        "key": st.sampled_from([f"k{n}" for n in range(18)] + ["all", "U0000007", "U0000008", "none"]),
        "tags": st.frozensets(st.sampled_from([f"t{n}" for n in range(6)]), min_size=1),
    },
)


@hypothesis_settings(max_examples=40, deadline=None)
@given(conditions)
def test_the_same_is_found_as_by_reading_every_message(generated: StoreDirectory, wanted: dict[str, Any]) -> None:
    expected = places([one for one in every_of(generated) if MessageConditions(**wanted).matches(one)])
    _, found, troubles = looked_for(generated, **wanted)
    assert (found, troubles) == (expected, [])


EVERY: dict[str, list[SelectedMessage]] = {}


def every_of(directory: StoreDirectory) -> list[SelectedMessage]:
    if directory.root not in EVERY:
        EVERY[directory.root] = everything(directory)
        assert len(EVERY[directory.root]) == COUNT
    return EVERY[directory.root]


def test_each_message_is_found_by_both_of_its_ids(generated: StoreDirectory) -> None:
    for number, one in enumerate(every_of(generated)):
        place = [one.message.physical_offset]
        assert one.message_id == f"U{number:07d}"
        if number % 17:
            continue
        assert looked_for(generated, message_id=one.message_id, system_topics=True)[1:] == (place, [])
        for text in (one.offset_message_id, one.offset_message_id.lower()):
            assert looked_for(generated, message_id=text, system_topics=True) == (SearchById, place, [])
            other = looked_for(generated, message_id=text, topics=frozenset(["other"]))
            assert other == (SearchById, [], [])


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_every_field_is_what_apaches_decoder_reads(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    lines = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    found = everything(discover(str(golden.untouched)))
    for one, line in zip(found, lines, strict=True):
        message = one.message
        assert one.properties == line["properties"]
        assert (one.message_id, one.offset_message_id) == (line["msgId"], line["offsetMsgId"])
        assert one.tags == line["tags"]
        assert one.keys == (line["keys"] or "").split()
        assert one.size == line["storeSize"]
        assert message.prepared_transaction_offset == line["preparedTransactionOffset"]
        body = decompress(message.body, message.sys_flag, max_size=1 << 20)
        assert hashlib.sha256(body).hexdigest() == line["bodySha256"]


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_a_store_of_apache_is_searched_the_cheapest_way(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    directory = discover(str(golden.untouched))
    every = everything(directory)
    for topic in {one.message.topic for one in every}:
        how, found, troubles = looked_for(directory, topics=frozenset([topic]))
        assert (found, troubles) == (places([one for one in every if one.message.topic == topic]), [])
        assert how is (SearchLog if topic == "GoldenDel" else SearchQueues)
    for one in every[::9]:
        topics = frozenset([one.message.topic])
        for key in one.keys:
            how, found, troubles = looked_for(directory, key=key, topics=topics)
            expected = [other for other in every if key in other.keys and other.message.topic == one.message.topic]
            assert (how, found, troubles) == (SearchByKey, places(expected), [])


def test_a_time_range_leaves_files_out(generated: StoreDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []
    real = scan_module.scan

    def scan(*arguments: Any, **options: Any) -> Any:
        starts.append(options["start"])
        for block in real(*arguments, **options):
            starts.append(block.base)
            yield block

    monkeypatch.setattr(plan_module, "scan", scan)
    late = START + 10 * MINUTE
    planned = SearchLog(generated, MessageConditions(since=late, system_topics=True))
    found = list(planned.run(lambda _: None))
    assert places(found) == places([one for one in every_of(generated) if one.message.store_timestamp >= late])
    assert starts[0] > 2 * 8192
    starts.clear()
    early = START + MINUTE
    list(SearchLog(generated, MessageConditions(until=early)).run(lambda _: None))
    assert max(starts) < 4 * 8192


def test_an_entry_that_leads_elsewhere_is_reported(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    store.append([draft(number) for number in range(8)])
    store.close()
    path = tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}"
    entries = [ENTRY_STRUCT.unpack_from(path.read_bytes(), n * 20) for n in range(8)]
    first_of_file = [place for place, _, _ in entries]
    with path.open("r+b") as file:
        for number, entry in {
            1: entries[0],
            2: (entries[2][0] + 1, entries[2][1], 0),
            3: (1 << 30, 100, 0),
            5: (entries[5][0], entries[5][1] - 1, 0),
            6: (entries[6][0], 60_000, 0),
        }.items():
            file.seek(number * 20)
            file.write(ENTRY_STRUCT.pack(*entry))
    how, found, troubles = looked_for(discover(str(tmp_path)), topics=frozenset(["T"]))
    assert how is SearchQueues
    assert found == [first_of_file[number] for number in (0, 4, 7)]
    reasons = {trouble.reason for trouble in troubles}
    assert "entry 1 leads to a message of T, queue 0, offset 0" in reasons
    assert "entry 3 of T, queue 0, leads out of the log" in reasons
    assert len(troubles) == 5
    assert not any(trouble.gone for trouble in troubles)


def test_lost_entries_are_reported_and_those_behind_them_followed(tmp_path: Path, store: MessageStore) -> None:
    """A page of the queue's newest file is zeroed: its end is behind it nevertheless."""
    places = [each.physical_offset for each in store.append([draft(number) for number in range(30)])]
    store.close()
    with (tmp_path / "consumequeue/T/0" / f"{320:020d}").open("r+b") as file:
        file.seek(4 * 20)
        file.write(bytes(60))
    _, found, troubles = looked_for(discover(str(tmp_path)), topics=frozenset(["T"]))
    assert found == places[:20] + places[23:]
    what = f"{tmp_path}/consumequeue/T/0: entry {{}} of T, queue 0, was never written"
    assert [str(trouble) for trouble in troubles] == [what.format(number) for number in (20, 21, 22)]


def test_an_entry_without_its_record_yet_is_skipped_in_a_store_in_use(tmp_path: Path) -> None:
    """A broker may write the entries of a group before its records, and begin a new log file meanwhile."""
    store = open_store(small(tmp_path, commit_log_file_size=1 << 14))
    place, size, _ = store.append([draft(number) for number in range(2)])[-1]
    store.close()
    path = tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}"
    with path.open("r+b") as file:
        file.seek(2 * 20)
        file.write(ENTRY_STRUCT.pack(place + size, size, 0) + ENTRY_STRUCT.pack(1 << 14, size, 0))
    directory = discover(str(tmp_path))
    for state, count in {StoreState.LIVE: 0, StoreState.AT_REST: 2}.items():
        _, found, troubles = looked_for(replace(directory, state=state), topics=frozenset(["T"]))
        assert found == [0, place]
        assert len(troubles) == count, state


def test_messages_of_a_file_removed_meanwhile_are_skipped(tmp_path: Path, store: MessageStore) -> None:
    written = [each.physical_offset for each in store.append([draft(n) for n in range(80)])]
    while store.dispatch_index():
        pass
    directory = discover(str(tmp_path))
    kinds: list[dict[str, Any]] = [{"topics": frozenset(["T"])}, {"key": "k3"}, {"message_id": "U0000003"}]
    planned = [plan(directory, MessageConditions(**wanted), unexpected) for wanted in kinds]
    assert [type(each) for each in planned] == [SearchQueues, SearchByKey, SearchByKey]
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    expected = [[place for place in written if place >= 4096], [], []]
    for each, left in zip(planned, expected, strict=True):
        troubles: list[ReadProblem] = []
        assert places(each.run(troubles.append)) == left
        assert {trouble.gone for trouble in troubles} == {True}
        assert len({trouble.path for trouble in troubles}) == 1
    offset_id = everything_id(directory)
    assert plan(directory, MessageConditions(message_id=offset_id), unexpected).__class__ is SearchByKey
    since = list(SearchLog(directory, MessageConditions(since=START)).run(lambda _: None))
    assert places(since) == expected[0]
    kill(store)


def everything_id(directory: StoreDirectory) -> str:
    """The offset message id of a record in the first file."""
    return "7F00000100002A9F" + f"{133:016X}"


def test_a_message_of_several_queues_is_found_in_each(tmp_path: Path, store: MessageStore) -> None:
    """5.x's light queues: entries of `%LMQ%x` lead to messages that keep the topic they were sent to."""
    appended = store.append([draft(number) for number in range(4)])
    store.close()
    queue = tmp_path / "consumequeue" / "%LMQ%x" / "0"
    queue.mkdir(parents=True)
    entries = b"".join(ENTRY_STRUCT.pack(appended[n].physical_offset, 133, 0) for n in (1, 3))
    (queue / f"{0:020d}").write_bytes(entries + bytes(280))
    how, found, troubles = looked_for(discover(str(tmp_path)), topics=frozenset(["%LMQ%x"]))
    assert (how, found, troubles) == (SearchQueues, [appended[1].physical_offset, appended[3].physical_offset], [])


def test_a_key_leads_to_no_message_of_a_removed_file_or_another_place(tmp_path: Path, store: MessageStore) -> None:
    written = [each.physical_offset for each in store.append([draft(n) for n in range(80)])]
    store.close()
    # As if the log had begun again: what the index finds first is not there any more.
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    assert looked_for(discover(str(tmp_path)), key="k3") == (SearchByKey, [], [])
    later = next(number for number, place in enumerate(written) if place >= 4096) + 3
    with (tmp_path / "commitlog" / f"{4096:020d}").open("r+b") as file:
        file.seek(written[later] - 4096)
        file.write(bytes(8))
    how, found, troubles = looked_for(discover(str(tmp_path)), key=f"k{later}")
    assert (how, found, [trouble.reason for trouble in troubles]) == (SearchByKey, [], ["there is no record"])


def test_many_queues_need_few_descriptors(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    store.append([draft(number, queue_id=number % 40) for number in range(300)])
    store.close()
    wanted = MessageConditions(topics=frozenset("T"), since=1)
    before = descriptors().total()
    most = 0
    found = []
    for one in find(discover(str(tmp_path)), wanted, lambda _: None):
        # `descriptors` collects garbage first: 300 times, that takes minutes.
        most = max(most, sum(1 for _ in Path("/proc/self/fd").iterdir()) - before)
        found.append(one.message.physical_offset)
    assert len(found) == 300
    assert found == sorted(found)
    assert most < 15


def test_nothing_is_wanted_of_an_empty_store(tmp_path: Path) -> None:
    open_store(small(tmp_path)).close()
    directory = discover(str(tmp_path))
    for wanted in (
        MessageConditions(),
        MessageConditions(topics=frozenset("T")),
        MessageConditions(key="k"),
        MessageConditions(message_id="00" * 16),
    ):
        assert list(find(directory, wanted, lambda _: None)) == []


def test_a_damaged_record_is_no_message_of_its_id(tmp_path: Path, store: MessageStore) -> None:
    store.append([draft(number) for number in range(4)])
    store.close()
    directory = discover(str(tmp_path))
    assert plan(directory, MessageConditions(message_id=everything_id(directory)), unexpected).__class__ is SearchById
    with (tmp_path / "commitlog" / f"{0:020d}").open("r+b") as file:
        file.seek(133 + 88)
        file.write(b"?")
    assert looked_for(directory, message_id=everything_id(directory))[1] == []
    how, found, troubles = looked_for(directory, message_id="U0000001")
    assert (how, found, [trouble.physical_offset for trouble in troubles]) == (SearchByKey, [], [133])
    assert MessageConditions().until == FOREVER


@pytest.mark.parametrize("removed", [1, 2, 5])
def test_queue_files_may_be_removed_while_a_time_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int
) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    written = []
    for number in range(80):
        clock.now += MINUTE
        written += [each.physical_offset for each in store.append([draft(number)])]
    directory = discover(str(tmp_path))
    queue = tmp_path / "consumequeue" / "T" / "0"
    really = SearchQueues._opened

    def opened(self: SearchQueues, files: QueueFiles) -> QueueReader:
        found = really(self, files)
        for path in sorted(queue.iterdir())[:removed]:
            path.unlink()
        return found

    monkeypatch.setattr(SearchQueues, "_opened", opened)
    wanted = {"topics": frozenset("T"), "since": START + 2 * MINUTE, "until": START + 70 * MINUTE}
    how, found, troubles = looked_for(directory, **wanted)
    assert (how, troubles) == (SearchQueues, [])
    assert found == written[max(1, 16 * removed) : 69]
    kill(store)


def test_a_key_is_looked_for_in_the_topics_of_queues_when_the_table_is_damaged(
    tmp_path: Path, store: MessageStore
) -> None:
    written = [each.physical_offset for each in store.append([draft(n) for n in range(8)])]
    store.close()
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "topics.json").write_text("[]")
    how, found, troubles = looked_for(discover(str(tmp_path)), key="k3")
    assert (how, found) == (SearchByKey, [written[3]])
    assert [str(trouble) for trouble in troubles] == [
        f"{tmp_path}/config/topics.json: it is no JSON object; the topics are taken from consumequeue"
    ]
