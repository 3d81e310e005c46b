from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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


def test_a_message_that_is_gone_is_told(tmp_path: Path, mixed: Command) -> None:
    log = tmp_path / "store" / "commitlog" / f"{0:020}"
    data = bytearray(log.read_bytes())
    data[4:8] = bytes(4)
    log.write_bytes(data)
    ran = mixed("ls", "--json", "--limit", "2")
    assert ran.code == 1
    assert ids(ran.objects) == ["O0000"]
    assert "at physical offset 0: of a message that waits for its time: " in ran.err


def test_topics_with_the_same_hash_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with made(tmp_path / "store") as timers:
        timers.add(NOW + 5000, topic="Aa")
        timers.add(NOW + 6000, topic="BB")
    run = Command(capsys, monkeypatch, "--store", tmp_path / "store", now=NOW)
    assert [one["topic"] for one in run("ls", "--json", "--topic", "BB").objects] == ["BB"]
