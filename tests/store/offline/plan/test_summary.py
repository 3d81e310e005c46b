"""Of `summary` and `overview`."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from rocketwire.store.offline.plan.overview import StoreCounts, TimerSummary, overview
from rocketwire.store.offline.plan.summary import group_lags, log_summary, queue_summaries
from rocketwire.store.offline.read.directory import StoreState, discover
from rocketwire.store.store import MessageStore
from tests.store.offline.timers import NOW, made
from tests.store.support import START, Clock, Golden, draft, kill, open_store, small


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_queues_are_summed_up_as_apache_has_them(version: str, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    stored = {
        line["physicalOffset"]: line["storeTimestamp"] for line in golden.lines("expected.jsonl") if "topic" in line
    }
    expected: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for line in golden.lines("expected-cq.jsonl"):
        if line["type"] == "unit":
            expected[line["topic"], line["queueId"]].append((line["physicalOffset"], line["size"]))
    found = list(queue_summaries(discover(str(golden.untouched))))
    assert {(queue.topic, queue.queue_id) for queue in found} == expected.keys()
    for queue in found:
        units = expected[queue.topic, queue.queue_id]
        assert (queue.min_offset, queue.max_offset, queue.messages) == (0, len(units), len(units))
        assert queue.bytes == sum(size for _, size in units)
        assert (queue.first_store_time, queue.last_store_time) == (stored[units[0][0]], stored[units[-1][0]])
    some = queue_summaries(discover(str(golden.untouched)), lambda topic: topic == "GoldenFill")
    assert [queue.messages for queue in some] == [700]


def test_the_lag_of_a_group_is_what_it_has_still_to_take(golden_550: Golden) -> None:
    lags = {(group.group, group.topic): group for group in group_lags(discover(str(golden_550.untouched)))}
    assert lags["golden_cg_normal", "GoldenTimer"].lag == 1
    assert lags["golden_cg_order", "GoldenOrder"].lag == 0
    assert [queue.max_offset for queue in lags["golden_cg_order", "GoldenOrder"].queues] == [12, 12, 8, 8]
    # A topic that never had a message.
    assert lags["golden_cg_normal", "%RETRY%golden_cg_normal"].lag == 0
    assert group_lags(discover(str(golden_550.untouched)), lambda topic: topic == "none") == []


@pytest.mark.parametrize(
    ("version", "end", "guess", "own", "user"),
    [
        (
            "golden_497",
            1168312,
            "4.x",
            StoreCounts(topics=4, queues=8, messages=29),
            StoreCounts(topics=21, queues=34, messages=901),
        ),
        (
            "golden_550",
            1247636,
            "5.x",
            StoreCounts(topics=6, queues=14, messages=95),
            StoreCounts(topics=24, queues=39, messages=919),
        ),
    ],
)
def test_a_store_of_apache_is_seen_through(
    version: str, end: int, guess: str, own: StoreCounts, user: StoreCounts, request: pytest.FixtureRequest
) -> None:
    golden: Golden = request.getfixturevalue(version)
    messages = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    found = overview(discover(str(golden.untouched)))
    assert found.version == guess
    assert (found.own_topics, found.user_topics) == (own, user)
    assert (found.log.start, found.log.end, found.log.troubles) == (0, end, ())
    assert found.log.first_store_time == messages[0]["storeTimestamp"]
    assert found.log.last_store_time == messages[-1]["storeTimestamp"]
    assert found.files["commit log"].bytes == 3 * 524288
    assert sum(file.keys for file in found.index) == 1831 if guess == "4.x" else 2979
    assert {file.room for file in found.index} == {499}
    assert found.problems == ()
    topics = next(file for file in found.config if file.name == "topics.json")
    assert topics.counter == {"4.x": 32, "5.x": 33}[guess]
    timer = TimerSummary(read_time=1795252066000, waiting=4, behind=0)
    assert found.timer == {"4.x": None, "5.x": timer}[guess]


def test_an_empty_store_has_nothing(tmp_path: Path) -> None:
    open_store(small(tmp_path)).close()
    found = overview(discover(str(tmp_path)))
    assert (found.log.start, found.log.end, found.log.first_store_time, found.log.last_store_time) == (0, 0, None, None)
    assert (found.version, found.index, found.problems, found.files) == ("unknown", (), (), {})


def test_the_end_is_found_behind_queues_that_lag(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    for number in range(50):
        clock.now += 1000
        store.append([draft(number)])
    end = store.max_physical_offset
    kill(store)
    directory = discover(str(tmp_path))
    for newest in (0, 4000 - 4000 % 133):
        log = log_summary(directory, newest)
        assert (log.end, log.first_store_time, log.last_store_time) == (end, START + 1000, START + 50_000)
    (tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}").unlink()
    assert overview(discover(str(tmp_path))).log.end == end


def test_everything_that_cannot_be_read_is_reported(golden_550: Golden, tmp_path: Path) -> None:
    root = golden_550.copy(tmp_path)
    (root / "config" / "topics.json").write_text("{")
    (root / "config" / "topics.json.bak").unlink()
    (root / "checkpoint").write_bytes(b"?")
    (root / "index" / "20261121090534782").write_bytes(b"?")
    (root / "index" / "notes").touch()
    (root / "index" / ("9" * 17)).mkdir()
    with (root / "commitlog" / f"{1048576:020d}").open("r+b") as file:
        file.seek(1247636 - 1048576)
        file.write(b"garbage that is no record")
    found = overview(discover(str(root)))
    assert found.ignored == (f"{root}/index/notes",)
    assert len(found.problems) == 5
    assert found.version == "5.x"
    assert found.checkpoint is None
    assert len(found.index) == 5
    assert [trouble.physical_offset for trouble in found.log.troubles] == [1247636]


def test_a_live_store_may_lose_files_while_it_is_read(tmp_path: Path, store: MessageStore) -> None:
    store.append([draft(number) for number in range(60)])
    directory = discover(str(tmp_path))
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    (tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}").unlink()
    (queue,) = queue_summaries(directory)
    assert queue.min_offset == 16
    assert queue.first_store_time is None
    assert overview(directory).log.end == store.max_physical_offset
    kill(store)


def test_an_index_file_that_a_live_store_removes_is_no_problem(tmp_path: Path, store: MessageStore) -> None:
    store.append([draft(number) for number in range(60)])
    while store.dispatch_index():
        pass
    directory = discover(str(tmp_path))
    missing = Path(directory.index[0].path)
    missing.unlink()
    found = overview(directory)
    assert (found.problems, len(found.index)) == ((), len(directory.index) - 1)
    assert overview(replace(directory, state=StoreState.AT_REST)).problems == (
        f"{missing} cannot be read: it was removed meanwhile",
    )
    kill(store)


def test_after_a_crash_the_end_is_found_before_a_lost_tail(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path), clock)
    for number in range(80):
        clock.now += 1000
        store.append([draft(number)])
    kill(store)
    (tmp_path / "commitlog" / f"{8192:020d}").write_bytes(bytes(4096))
    log = overview(discover(str(tmp_path))).log
    assert 4096 < log.end < 8192
    assert log.last_store_time is not None
    assert START < log.last_store_time < clock.now


def test_a_damaged_newest_message_is_reported(tmp_path: Path, store: MessageStore) -> None:
    places = [each.physical_offset for each in store.append([draft(number) for number in range(5)])]
    store.close()
    with (tmp_path / "commitlog" / f"{0:020d}").open("r+b") as file:
        file.seek(places[-1] + 88)
        file.write(b"?")
    log = overview(discover(str(tmp_path))).log
    assert (log.end, log.last_store_time) == (places[-1], START)
    assert [trouble.physical_offset for trouble in log.troubles] == [places[-1]]


def test_a_store_of_5x_is_known_by_any_of_its_files(tmp_path: Path) -> None:
    open_store(small(tmp_path)).close()
    (tmp_path / "config" / "topics.json").write_text('{"dataVersion":{"counter":1},"topicConfigTable":{}}')
    assert overview(discover(str(tmp_path))).version == "4.x"
    os.truncate(tmp_path / "config" / "topics.json", 0)
    (tmp_path / "batchconsumequeue" / "T" / "0").mkdir(parents=True)
    found = overview(discover(str(tmp_path)))
    assert (found.version, found.facts) == ("5.x", ("batchconsumequeue is there",))


def test_timer_files_of_ours_make_no_5x_of_a_store(tmp_path: Path) -> None:
    with made(tmp_path) as timers:
        timers.add(NOW + 5000)
        assert overview(discover(str(tmp_path))).version == "5.x"
        timers.save()
        found = overview(discover(str(tmp_path)))
    assert (found.version, found.facts) == (
        "unknown",
        ("the timer's files are rocketwire's", "there is no topics.json, and no file that only 5.x makes"),
    )
