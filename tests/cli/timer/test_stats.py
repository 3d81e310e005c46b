"""Of `stats`, and of where all commands look: `source`, `local`, `remote`, `pending`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketwire.server.core.clocks import clock
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.names import TIMER_TOPIC
from tests.cli.endpoint import Answers, FakeAnswer, fake_server
from tests.cli.timer.support import GOLDEN_NOW, Command, TimerBroker
from tests.store.offline.timers import NOW, made
from tests.store.support import Golden, draft, open_store, small

TABLES = """\
waiting         4 messages for 2 topics
cancelled       1 of them; 1 marker waiting with them
overdue         none

TOPIC         WAITING  CANCELLED  OVERDUE  FIRST DUE (UTC)          LAST DUE (UTC)
GoldenRecall        1          1        0  2026-11-21 09:35:56.000  2026-11-21 09:35:56.000
GoldenTimer         3          0        0  2026-11-21 10:05:56.000  2026-11-22 09:05:56.000

DUE FROM (UTC)    WAITING
2026-11-21 09:35        1  ########################################
2026-11-21 10:05        1  ########################################
2026-11-21 11:00        1  ########################################
2026-11-22 09:00        1  ########################################
"""


@contextmanager
def broker(root: Path, changes: Answers | None = None) -> Iterator[TimerBroker]:
    found = TimerBroker(root, changes or {})
    try:
        yield found
    finally:
        found.close()


def test_a_store_of_apache(golden_550: Golden, timer: Callable[..., Command]) -> None:
    root = golden_550.untouched
    ran = timer("--store", root)("stats")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"store           {root}\n"
        "state           at rest: the last broker stopped cleanly\n"
        "timer           slots of 1000 ms, read up to 2026-11-21 09:07:46.000 (14.0 s ago)\n" + TABLES
    )


def test_the_same_for_programs(golden_550: Golden, timer: Callable[..., Command]) -> None:
    root = golden_550.untouched
    (found,) = timer("--store", root, now=1795259156000)("stats", "--json").objects
    topics = found.pop("topics")
    assert found == {
        "time": 1795259156000,
        "precision": 1000,
        "directory": str(root),
        "state": "at_rest",
        "read_time": 1795252066000,
        "queue_offset": 52,
        "queue_end": 52,
        "stale": 0,
        "messages": 4,
        "cancelled": 1,
        "markers": 1,
        "overdue": 3,
        "oldest_due": 1795253756000,
        "histogram": [{"start": 1795338000000, "stop": 1795341600000, "messages": 1}],
    }
    assert topics[1] == {
        "topic": "GoldenTimer",
        "messages": 3,
        "cancelled": 0,
        "overdue": 2,
        "next_due": 1795255556000,
        "last_due": 1795338356000,
    }


def test_a_broker_with_the_same_messages_has_the_same_figures(
    golden_550: Golden, timer: Callable[..., Command]
) -> None:
    with broker(golden_550.untouched) as server:
        run = timer("--namesrv", server.address)
        ran = run("stats")
        (found,) = run("stats", "--json").objects
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "b               slots of 1000 ms, read up to 2026-11-21 09:07:46.000 (nothing overdue)\n"
        "                counts -3 messages for 2 topics\n"
        "                timerOffsetBehind 0, timerReadBehind 1\n"
    )
    for line in TABLES.splitlines():
        assert line in ran.out
    assert "LAST DUE (UTC)           BROKERS COUNT\n" in ran.out
    assert (found["messages"], found["cancelled"], found["markers"]) == (4, 1, 1)
    assert found["brokers"] == [
        {
            "name": "b",
            "read_time": 1795252066000,
            "queue_offset": 52,
            "queue_end": 52,
            "counts": {"GoldenTimer": 3, "GoldenRecall": -6},
            "runtime": {"timerOffsetBehind": "0", "timerReadBehind": "1"},
            "precision": 1000,
        }
    ]


def test_what_came_due_while_the_topic_was_pulled_is_not_overdue(
    golden_550: Golden, monkeypatch: pytest.MonkeyPatch, timer: Callable[..., Command]
) -> None:
    with broker(golden_550.untouched) as server:
        run = timer("--namesrv", server.address)
        pull, late = server.answers[RequestCode.PULL_MESSAGE], GOLDEN_NOW + 7_200_000

        def slow(ext: dict[str, str]) -> FakeAnswer | bytes | None:
            monkeypatch.setattr(clock, "system_clock", lambda: late)
            return pull(ext)

        server.answers[RequestCode.PULL_MESSAGE] = slow
        (found,) = run("stats", "--json").objects
        assert (found["time"], found["messages"], found["overdue"]) == (GOLDEN_NOW, 4, 0)
        monkeypatch.setattr(clock, "system_clock", lambda: GOLDEN_NOW)
        ran = run("ls")
        assert (ran.out.count(" waits"), ran.out.count(" overdue")) == (3, 0)
        # Now they are: the broker stands still.
        ran = run("stats")
    assert "read up to 2026-11-21 09:07:46.000 (2.0 h ago)\n" in ran.out
    assert "overdue         3 messages, the oldest by 92.1 min\n" in ran.out


def test_a_bar_shows_how_much_of_the_topic_is_pulled(
    golden_550: Golden, monkeypatch: pytest.MonkeyPatch, timer: Callable[..., Command]
) -> None:
    with broker(golden_550.untouched) as server:
        run = timer("--namesrv", server.address)
        with monkeypatch.context() as terminal:
            terminal.setattr(sys.stderr, "isatty", lambda: True)
            ran = run("stats")
    assert ran.code == 0
    assert "/52.0 [" in ran.err
    assert "messages/s]" in ran.err


def test_figures_that_a_broker_does_not_report_are_omitted(golden_550: Golden, timer: Callable[..., Command]) -> None:
    refusal = FakeAnswer(1, remark="no")
    optional = (RequestCode.GET_TIMER_METRICS, RequestCode.GET_BROKER_RUNTIME_INFO, RequestCode.GET_BROKER_CONFIG)
    with broker(golden_550.untouched, {code: lambda _: refusal for code in optional}) as server:
        run = timer("--namesrv", server.address)
        ran = run("stats")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines()[1] == "waiting         4 messages for 2 topics"
        server.answers[RequestCode.GET_TIMER_METRICS] = lambda _: FakeAnswer(body=b'{"timingCount":null}')
        assert run("stats").out == ran.out


def test_a_store_without_timers_is_no_error(tmp_path: Path, timer: Callable[..., Command]) -> None:
    store = open_store(small(tmp_path / "store"))
    store.append([draft()])
    store.close()
    run = timer("--store", tmp_path / "store")
    ran = run("stats")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"store           {tmp_path}/store\n"
        "state           at rest: the last broker stopped cleanly\n"
        "timer           none: no message has ever waited here\n"
        "waiting         0 messages for 0 topics\n"
        "overdue         none\n"
    )
    reported = json.loads(run("stats", "--json").out)
    assert (reported["messages"], reported["read_time"], reported["topics"]) == (0, None, [])
    ran = run("ls", "--json")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = run("show", "--json")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = run("show", "U0000000")
    assert (ran.code, ran.err) == (1, f"rocketwire: U0000000: {tmp_path}/store has no such message in {TIMER_TOPIC}\n")


def test_no_timer_is_one_line(golden_550: Golden, tmp_path: Path, timer: Callable[..., Command]) -> None:
    ran = timer("--store", tmp_path)("stats")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "it holds neither commitlog, consumequeue nor checkpoint" in ran.err
    ran = timer("--commitlog", tmp_path)("stats")
    assert (ran.code, ran.err) == (2, "rocketwire: --commitlog is for --store DIR only\n")
    with fake_server() as server:
        ran = timer("--namesrv", server.address)("stats")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (f"rocketwire: no broker has a timer: broker {server.address} answered code 3: not supported\n")
    with broker(
        golden_550.untouched, {RequestCode.GET_TIMER_CHECK_POINT: lambda _: FakeAnswer(body=b"short")}
    ) as wrong:
        ran = timer("--namesrv", wrong.address)("stats")
    assert ran.code == 1
    assert ran.err.endswith("the timer's checkpoint has 5 bytes only\n")


def test_a_log_elsewhere_is_named(golden_550: Golden, tmp_path: Path, timer: Callable[..., Command]) -> None:
    root = golden_550.copy(tmp_path)
    shutil.move(root / "commitlog", tmp_path / "log")
    ran = timer("--store", root)("stats")
    assert (ran.code, ran.out) == (2, "")
    assert "--commitlog DIR names its folder" in ran.err
    ran = timer("--store", root, "--commitlog", tmp_path / "log")("stats")
    assert ran.out.endswith(TABLES)


def test_a_store_in_use_with_messages_that_are_behind(tmp_path: Path, timer: Callable[..., Command]) -> None:
    with made(tmp_path / "store") as timers:
        timers.add(NOW + 499, topic="Gone")
        timers.add(NOW + 3000, key="A")
        timers.add(NOW + 3000, key="B")
        timers.save()
        timers.add(NOW + 3001, cancels="A")
        timers.add(NOW + 200_000_000, topic="Far")
        timers.add(NOW + 200_000_001, cancels="Nobody", unit=False)
        timers.store.flush_to(timers.store.max_physical_offset)
        run = timer("--store", tmp_path / "store", now=NOW + 1500)
        ran = run("stats")
    assert (ran.code, ran.err) == (0, "")
    lines = {line[:16].strip(): line[16:] for line in ran.out.splitlines()}
    assert lines["state"] == "live: a broker has it open"
    assert lines["timer"].endswith(" (1.5 s ago), 3 messages not in the wheel yet")
    assert lines["waiting"] == "4 messages for 3 topics"
    assert lines["cancelled"] == "1 of them; 2 markers waiting with them"
    assert lines["overdue"] == "1 message, the oldest by 1.0 s"
    rows = [line.split()[:4] for line in ran.out.splitlines()[7:11]]
    assert rows == [
        ["TOPIC", "WAITING", "CANCELLED", "OVERDUE"],
        ["Far", "1", "0", "0"],
        ["Gone", "1", "0", "1"],
        ["T", "2", "1", "0"],
    ]


def test_messages_removed_from_the_log_are_reported(
    golden_550: Golden, tmp_path: Path, timer: Callable[..., Command]
) -> None:
    root = golden_550.copy(tmp_path)
    (root / "commitlog" / "00000000000001048576").unlink()
    ran = timer("--store", root)("stats")
    assert (ran.code, ran.err) == (0, "")
    assert "stale           5 units of records that the log has no more\n" in ran.out
    assert "waiting         0 messages for 0 topics\n" in ran.out
    assert "TOPIC" not in ran.out


def test_damage_is_reported_and_the_rest_counted(
    golden_550: Golden, tmp_path: Path, timer: Callable[..., Command]
) -> None:
    root = golden_550.copy(tmp_path)
    with (root / "commitlog" / "00000000000001048576").open("r+b") as file:
        file.seek(1245031 - 1048576 + 4)
        file.write(b"\0")
    ran = timer("--store", root)("stats")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "at physical offset 1245031: of a message that waits for its time: " in ran.err
    assert "waiting         3 messages for 2 topics\n" in ran.out


def test_the_hours_before_and_behind_the_minutes(tmp_path: Path, timer: Callable[..., Command]) -> None:
    with made(tmp_path / "store") as timers:
        for out in (1, 59_001, 3_599_001, 3_600_001, 3_661_001, 7_200_001, 86_400_001):
            timers.add(NOW + out)
        run = timer("--store", tmp_path / "store", now=NOW)
        (found,) = run("stats", "--json").objects
    assert sum(each["messages"] for each in found["histogram"]) == 7
    first = NOW // 60_000 * 60_000
    for each in found["histogram"]:
        length = each["stop"] - each["start"]
        assert each["stop"] % 3_600_000 == 0 or length == 60_000
        assert (each["start"] < first + 3_600_000) == (length == 60_000)
    assert GOLDEN_NOW > NOW
