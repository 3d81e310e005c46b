"""Of `ls`, `show` and `lookup`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.names import TIMER_TOPIC
from tests.cli.timer.support import DAY, HOUR, RECALLED, TWO_HOURS, Command, TimerBroker
from tests.store.offline.timers import NOW, made
from tests.store.support import Golden


@pytest.fixture(params=["store", "broker"])
def run(
    request: pytest.FixtureRequest,
    golden_550: Golden,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """The golden store's messages, from both places."""
    if request.param == "store":
        yield Command(capsys, monkeypatch, "--store", golden_550.untouched)
        return
    server = TimerBroker(golden_550.untouched, {})
    yield Command(capsys, monkeypatch, "--namesrv", server.address)
    server.close()


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [each["message_id"] for each in found]


def test_the_messages_in_the_order_of_their_times(run: Command) -> None:
    ran = run("ls")
    assert (ran.code, ran.err) == (0, "")
    title, *rows = ran.out.splitlines()
    assert title.split("  ")[0] == "DUE (UTC)"
    assert [row.split("  ")[0] for row in rows] == [
        "2026-11-21 09:35:56.000",
        "2026-11-21 10:05:56.000",
        "2026-11-21 11:05:56.000",
        "2026-11-22 09:05:56.000",
    ]
    assert rows[0].split() == [
        *("2026-11-21", "09:35:56.000", "GoldenRecall", "0", RECALLED),
        *("Rc", "recall_1800", "433", "bytes", "3", "1245479", "cancelled"),
    ]
    assert [row.split()[-1] for row in rows] == ["cancelled", "waits", "waits", "waits"]


def test_the_same_for_programs(run: Command) -> None:
    found = run("ls", "--json").objects
    brokers = {each.pop("broker") for each in found}
    assert brokers in ({None}, {"b"})
    assert ids(found) == [RECALLED, HOUR, TWO_HOURS, DAY]
    assert [each["cancelled"] for each in found] == [True, False, False, False]
    assert found[1] == {
        "due_time": 1795255556000,
        "topic": "GoldenTimer",
        "queue_id": 0,
        "message_id": HOUR,
        "tags": "Tm",
        "keys": ["timer_s3600"],
        "store_size": 430,
        "rolls": 3,
        "cancelled": False,
        "store_timestamp": 1795252048018,
        "physical_offset": 1246354,
        "timer_offset": 50,
    }


def test_some_of_them(run: Command) -> None:
    def some(*arguments: object) -> list[str]:
        return ids(run("ls", "--json", *arguments).objects)

    assert some("--topic", "GoldenTimer") == [HOUR, TWO_HOURS, DAY]
    assert some("--topic", "Nothing") == []
    assert some("--limit", "2") == [RECALLED, HOUR]
    assert some("--limit", "0") == [RECALLED, HOUR, TWO_HOURS, DAY]
    assert some("--from", 1795255556000) == [HOUR, TWO_HOURS, DAY]
    assert some("--from", 1795255556001, "--to", "2026-11-22") == [TWO_HOURS]
    assert some("--to", 1795255556000) == [RECALLED]
    assert some("--topic", "GoldenTimer", "--limit", "1", "--from", "2026-11-22") == [DAY]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--limit", "-5"], "--limit -5: a whole number is needed, 0 or more"),
        (["--from", "2026-01-02", "--to", "2026-01-01"], "--to 2026-01-01: it is before --from 2026-01-02"),
        (["--limit", "x"], "--limit x: a whole number is needed, 0 or more"),
        (["--from", "soon"], "--from soon: expected ISO 8601"),
        (["--to", "later"], "--to later: expected ISO 8601"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], text: str, run: Command) -> None:
    ran = run("ls", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"rocketwire: {text}")
    assert ran.err.count("\n") == 1


@pytest.fixture
def mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Far messages, which roll, between near ones, so many that they are read in several parts."""
    with made(tmp_path / "store") as timers:
        for number in range(0, 3000, 2):
            timers.add(NOW + 10_000 + number, key=f"N{number:04d}")
        for number in (5, 3, 1):
            timers.add(NOW + 200_000_000 + number, key=f"F{number:04d}")
        timers.add(NOW + 499, key="O0000")
    return Command(capsys, monkeypatch, "--store", tmp_path / "store", now=NOW + 600)


def test_messages_that_roll_come_when_they_are_due(mixed: Command) -> None:
    found = ids(mixed("ls", "--json", "--limit", "0").objects)
    assert found == ["O0000", *(f"N{number:04d}" for number in range(0, 3000, 2)), "F0001", "F0003", "F0005"]
    assert ids(mixed("ls", "--json", "--limit", 1503).objects) == found[:1503]
    assert ids(mixed("ls", "--json", "--limit", 1500).objects) == found[:1500]
    # They roll before this time, but are due later.
    assert ids(mixed("ls", "--json", "--from", NOW + 172_000_000, "--to", NOW + 200_000_000).objects) == []
    assert ids(mixed("ls", "--json", "--from", NOW + 172_000_000, "--to", NOW + 200_000_004).objects) == found[-3:-1]
    assert mixed("ls", "--limit", "1").out.endswith(" overdue\n")


def test_a_removed_message_is_reported(tmp_path: Path, mixed: Command) -> None:
    log = tmp_path / "store" / "commitlog" / f"{0:020}"
    data = bytearray(log.read_bytes())
    data[4:8] = bytes(4)
    log.write_bytes(data)
    ran = mixed("ls", "--json", "--limit", "2")
    assert ran.code == 1
    assert ids(ran.objects) == ["O0000"]
    assert "at physical offset 0: of a message that waits for its time: " in ran.err


def test_topics_with_the_same_hash_are_distinguished(tmp_path: Path, timer: Callable[..., Command]) -> None:
    with made(tmp_path / "store") as timers:
        timers.add(NOW + 5000, topic="Aa")
        timers.add(NOW + 6000, topic="BB")
    run = timer("--store", tmp_path / "store", now=NOW)
    assert [one["topic"] for one in run("ls", "--json", "--topic", "BB").objects] == ["BB"]


@pytest.fixture
def golden(golden_550: Golden, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(capsys, monkeypatch, "--store", golden_550.untouched)


def test_the_next_slots(golden: Command) -> None:
    ran = golden("show")
    assert (ran.code, ran.err) == (0, "")
    title, row = ran.out.splitlines()
    assert title.split("  ")[0] == "SLOT (UTC)"
    assert row.split() == ["2026-11-21", "09:07:58.000", "205678", "0", "5", "0", "5", "2444", "2704"]
    assert golden("show", "--json", "--slots", 1).objects == [
        {
            "time": 1795252078000,
            "number": 205678,
            "messages": 0,
            "rolls": 5,
            "markers": 0,
            "chain": 5,
            "first": 2444,
            "last": 2704,
        }
    ]
    assert golden("show", "--json", "--slots", 0).out == ""


def test_a_message_that_waits(golden: Command) -> None:
    ran = golden("show", HOUR)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"message         {HOUR}\n"
        "topic           GoldenTimer, queue 0, tag Tm, keys timer_s3600\n"
        "due             2026-11-21 10:05:56.000 UTC\n"
        "state           waits; rolls 2026-11-21 09:07:58.000 UTC\n"
        "stored          2026-11-21 09:07:28.018 UTC, offset 50 of rmq_sys_wheel_timer, physical offset 1246354, "
        "430 bytes\n"
        "rolls           3\n"
        "unit            at byte 2652 of the timer log\n"
    )
    (found,) = golden("show", DAY, "--json").objects
    assert (found["waits"], found["cancelled"], found["rolls_at"], found["position"]) == (
        True,
        False,
        1795252078000,
        2704,
    )
    assert (found["due_time"], found["timer_offset"], found["cancels"]) == (1795338356000, 51, None)
    assert found["delivered"] is None


def test_one_that_is_cancelled(golden: Command) -> None:
    assert (
        "state           waits, cancelled by a marker; rolls 2026-11-21 09:07:58.000 UTC\n"
        in golden("show", RECALLED).out
    )


def test_one_that_was_delivered(golden: Command, golden_550: Golden) -> None:
    (unit,) = (
        line
        for line in golden_550.lines("expected-timer.jsonl")
        if line["type"] == "unit" and line["message.KEYS"] == "timer_s3"
    )
    (stored,) = (
        line
        for line in golden_550.lines("expected.jsonl")
        if line.get("topic") == TIMER_TOPIC and line["physicalOffset"] == unit["offsetPy"]
    )
    key = stored["properties"]["UNIQ_KEY"]
    ran = golden("show", key)
    assert "state           delivered 2026-11-21 09:05:5" in ran.out
    (found,) = golden("show", key, "--json").objects
    assert not found["waits"]
    assert found["delivered"]["store_timestamp"] >= found["due_time"] - 1000


def test_the_same_message_as_a_broker_has_it(golden_550: Golden, timer: Callable[..., Command]) -> None:
    server = TimerBroker(golden_550.untouched, {})
    golden = timer("--namesrv", server.address)
    ran = golden("show", HOUR)
    assert (ran.code, ran.err) == (0, "")
    assert "topic           GoldenTimer, queue 0, tag Tm, keys timer_s3600, broker b\n" in ran.out
    assert "state           waits\n" in ran.out
    assert "state           waits, cancelled by a marker\n" in golden("show", RECALLED).out
    ran = golden("show", "Nobody")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"rocketwire: Nobody: {server.address} has no such message in {TIMER_TOPIC}\n"
    ran = golden("show")
    assert ran.code == 2
    assert ran.err.startswith("rocketwire: slots are seen in a store directory only: name it with --store DIR")
    server.close()


def test_messages_of_a_store_of_ours(tmp_path: Path, timer: Callable[..., Command]) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 3000, key="Same")
        timers.add(NOW + 4000, key="Same")
        place = timers.add(NOW + 1500, key="Done")
        timers.index.settle(timers.last, timers.copy(place, out=NOW + 1500, key="Done"))
        timers.add(NOW + 1500, key="Gone")
        timers.index.settle(timers.last, -1)
        timers.add(NOW + 1501, key="M", cancels="Gone")
        timers.add(NOW + 1501, key="Late", unit=False)
        timers.index.queue_offset = 5
        timers.save()
    golden = timer("--store", root)
    both = golden("show", "Same").out
    assert both.count("state           waits\n") == 2
    assert both.count("\n\n") == 1
    assert "state           delivered 2023-11-14 22:13:20.000 UTC, queue 0, offset 0\n" in golden("show", "Done").out
    assert "state           waits no more, and no copy is found: " in golden("show", "Gone").out
    marker = golden("show", "M").out
    assert "state           waits\ncancels         Gone\n" in marker
    late = golden("show", "Late").out
    assert "state           waits\n" in late
    assert "unit " not in late


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--slots", "-1"], "--slots -1: a whole number is needed, 0 or more"),
        (["--slots", "x"], "--slots x: a whole number is needed, 0 or more"),
        (["--slots", "1", "ID"], "--slots: not with MSGID"),
        (["ID"], "ID: {} has no such message in rmq_sys_wheel_timer"),
    ],
)
def test_a_wrong_option_of_show_is_one_line(
    arguments: list[str], text: str, golden: Command, golden_550: Golden
) -> None:
    ran = golden("show", *arguments)
    assert (ran.code, ran.out) == (1 if arguments == ["ID"] else 2, "")
    assert ran.err == f"rocketwire: {text.format(golden_550.untouched)}\n"
