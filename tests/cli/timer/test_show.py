"""Of `show` and `lookup`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.wire.names import TIMER_TOPIC
from tests.cli.timer.support import DAY, HOUR, RECALLED, Command, TimerBroker
from tests.store.offline.timers import NOW, made
from tests.store.support import Golden


@pytest.fixture
def run(golden_550: Golden, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(capsys, monkeypatch, "--store", golden_550.untouched)


def test_the_next_slots(run: Command) -> None:
    ran = run("show")
    assert (ran.code, ran.err) == (0, "")
    title, row = ran.out.splitlines()
    assert title.split("  ")[0] == "SLOT (UTC)"
    assert row.split() == ["2026-11-21", "09:07:58.000", "205678", "0", "5", "0", "5", "2444", "2704"]
    assert run("show", "--json", "--slots", 1).objects == [
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
    assert run("show", "--json", "--slots", 0).out == ""


def test_a_message_that_waits(run: Command) -> None:
    ran = run("show", HOUR)
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
    (found,) = run("show", DAY, "--json").objects
    assert (found["waits"], found["cancelled"], found["rolls_at"], found["position"]) == (
        True,
        False,
        1795252078000,
        2704,
    )
    assert (found["due_time"], found["timer_offset"], found["cancels"]) == (1795338356000, 51, None)
    assert found["delivered"] is None


def test_one_that_is_cancelled(run: Command) -> None:
    assert (
        "state           waits, cancelled by a marker; rolls 2026-11-21 09:07:58.000 UTC\n" in run("show", RECALLED).out
    )


def test_one_that_was_delivered(run: Command, golden_550: Golden) -> None:
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
    ran = run("show", key)
    assert "state           delivered 2026-11-21 09:05:5" in ran.out
    (found,) = run("show", key, "--json").objects
    assert not found["waits"]
    assert found["delivered"]["store_timestamp"] >= found["due_time"] - 1000


def test_the_same_message_as_a_broker_has_it(
    golden_550: Golden, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = TimerBroker(golden_550.untouched, {})
    run = Command(capsys, monkeypatch, "--namesrv", server.address)
    ran = run("show", HOUR)
    assert (ran.code, ran.err) == (0, "")
    assert "topic           GoldenTimer, queue 0, tag Tm, keys timer_s3600, broker b\n" in ran.out
    assert "state           waits\n" in ran.out
    assert "state           waits, cancelled by a marker\n" in run("show", RECALLED).out
    ran = run("show", "Nobody")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"rocketwire: Nobody: {server.address} has no such message in {TIMER_TOPIC}\n"
    ran = run("show")
    assert ran.code == 2
    assert ran.err.startswith("rocketwire: slots are seen in a store directory only: name it with --store DIR")
    server.close()


def test_messages_of_a_store_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    run = Command(capsys, monkeypatch, "--store", root)
    both = run("show", "Same").out
    assert both.count("state           waits\n") == 2
    assert both.count("\n\n") == 1
    assert "state           delivered 2023-11-14 22:13:20.000 UTC, queue 0, offset 0\n" in run("show", "Done").out
    assert "state           waits no more, and no copy is found: " in run("show", "Gone").out
    marker = run("show", "M").out
    assert "state           waits\ncancels         Gone\n" in marker
    late = run("show", "Late").out
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
def test_a_wrong_option_is_one_line(arguments: list[str], text: str, run: Command, golden_550: Golden) -> None:
    ran = run("show", *arguments)
    assert (ran.code, ran.out) == (1 if arguments == ["ID"] else 2, "")
    assert ran.err == f"rocketwire: {text.format(golden_550.untouched)}\n"
