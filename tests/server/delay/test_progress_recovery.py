"""What a start after a crash finds out about the deliveries before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.delay.progress_recovery import ProgressRecovery
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.wire.bodies.fastjson import dumps_pretty, loads
from tests.server.delay.support import LEVELS, SCHEDULE, Delays
from tests.server.harness import NOW, properties_text
from tests.store.support import draft, remove_log_file

FILE = Path("store") / "config" / "delayOffset.json"


def as_apache_leaves_it(folder: Path) -> None:
    """Remove from the file what Apache's broker does not write."""
    document = loads((folder / FILE).read_bytes())
    document.pop("logOffset", None)
    (folder / FILE).write_bytes(dumps_pretty(document))


@pytest.mark.parametrize("apache", [False, True])
def test_messages_delivered_after_the_last_save_are_not_delivered_again(
    tmp_path: Path, delays: Delays, apache: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for number in range(40):
        delays.send(b"%d" % number, number % 3 + 1)
        delays.clock.now += 100
    delays.deliver()
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    delays.pass_time(58_000)
    before = delays.delivered()
    delays.kill()
    if apache:
        as_apache_leaves_it(tmp_path)
    delays.reopen()
    delays.deliver()
    assert delays.delivered() == before
    assert "delay level 1: 3 messages were delivered before the stop" in caplog.text
    delays.pass_time(60_000)
    assert sorted(map(int, delays.delivered())) == list(range(40))


def test_a_lost_file_causes_no_second_delivery(tmp_path: Path, delays: Delays) -> None:
    for number in range(200):
        delays.send(b"%d" % number, 1)
    delays.pass_time(1000)
    delays.kill()
    assert not (tmp_path / FILE).exists()
    delays.reopen()
    delays.pass_time(1000)
    assert len(delays.delivered()) == 200


def test_skipped_messages_have_no_copy(delays: Delays) -> None:
    for number in range(6):
        delays.send(b"%d" % number, 1)
        bad = draft(number, topic=SCHEDULE, queue_id=0, properties=properties_text(DELAY="1").encode())
        assert delays.store.append([bad])
    delays.pass_time(1000)
    assert delays.delivery.dropped == 6
    delays.kill()
    delays.reopen()
    delays.deliver()
    assert len(delays.delivered()) == 6
    assert delays.delivery.dropped == 1  # the last one, behind all copies


def test_equal_messages_are_counted(delays: Delays) -> None:
    """Messages without a key that are equal: the number of their copies counts."""
    twin = properties_text(DELAY="1")
    delays.send(b"twin", 1, properties=twin)
    delays.pass_time(1000)
    for _ in range(3):
        delays.send(b"twin", 1, properties=twin)
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    delays.clock.now += 1000
    delays.delivery.deliver()
    delays.kill()
    delays.reopen()
    delays.send(b"twin", 1, properties=twin)
    delays.deliver()
    assert delays.delivered() == [b"twin"] * 4
    delays.pass_time(1000)
    assert delays.delivered() == [b"twin"] * 5


def test_messages_that_apache_delivered_again_after_our_kill_are_not_lost(
    delays: Delays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before it wrote its file, it leaves ours, with a physical offset behind which some copies stand twice."""
    delays.send(b"first", 1)
    delays.pass_time(1000)
    for number in range(6):
        delays.send(b"%d" % number, 1)
        delays.clock.now += 10
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    assert delays.table.log_offset is not None
    delays.pass_time(1000 - 60 + 20)
    assert delays.delivered() == [b"first", b"0", b"1", b"2"]
    delays.kill()
    with monkeypatch.context() as patch:
        patch.setattr(ProgressRecovery, "recovered_levels", lambda _: iter(()))
        delays.reopen()
        delays.pass_time(10)
    assert delays.delivered() == [b"first", b"0", b"1", b"2", b"0", b"1", b"2", b"3"]
    delays.kill()
    delays.reopen()
    delays.pass_time(1000)
    assert delays.delivered() == [b"first", b"0", b"1", b"2", b"0", b"1", b"2", b"3", b"4", b"5"]


def test_nothing_is_read_if_nothing_can_have_been_delivered(delays: Delays) -> None:
    for number in range(20):
        delays.send(b"%d" % number, 0)
    delays.kill()
    delays.reopen()
    assert not ProgressRecovery(delays.store, [0, 0, 0], 0).step()  # no message waits
    delays.send(b"late", 3)
    delays.kill()
    delays.reopen()
    assert not ProgressRecovery(delays.store, [0, 0, 0], None).step()  # none was due
    assert ProgressRecovery(delays.store, [0, 0, 0], 0).step()


def test_offsets_of_a_clean_stop_of_apache_are_used(tmp_path: Path, delays: Delays) -> None:
    delays.send(b"a", 1)
    delays.send(b"b", 3)
    delays.pass_time(1000)
    delays.stop()
    as_apache_leaves_it(tmp_path)
    delays.reopen()
    assert not ProgressRecovery(delays.store, [0, 0, 0], delays.table.log_offset).step()


def test_an_offset_behind_the_end_of_the_log_is_ignored(delays: Delays) -> None:
    delays.send(b"a", 1)
    delays.send(b"b", 3)
    delays.pass_time(1000)
    delays.kill()
    delays.table.put(1, 0)
    delays.table.set_log_offset(1 << 40)
    delays.table.persist()
    delays.reopen()
    delays.deliver()
    assert delays.delivered() == [b"a"]


def test_records_that_resemble_copies_are_ignored(delays: Delays) -> None:
    delays.send(b"a", 1)
    delays.clock.now += 1000
    copy = {"UNIQ_KEY": "Ua", "DELAY": "1", "CLUSTER": "C", "REAL_TOPIC": "T", "REAL_QID": "0"}
    for changes in (
        {"DELAY": "2"},
        {"DELAY": "9"},
        {"DELAY": "x"},
        {"DELAY": "9" * 5000},
        {"REAL_TOPIC": "U"},
        {"REAL_QID": "1"},
        {"KEYS": "k"},
    ):
        text = properties_text(**{**copy, **changes}).encode()
        assert delays.store.append([draft(0, body=b"a", properties=text, born_timestamp=NOW)])
    assert delays.store.append([draft(0, body=b"REAL_TOPIC\x01", properties=b"")])
    delivered_before = len(delays.delivered())
    delays.kill()
    delays.reopen()
    delays.deliver()
    assert delays.delivered()[delivered_before:] == [b"a"]


def test_a_level_is_read_ahead_in_parts(delays: Delays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.server.delay.progress_recovery._AHEAD", 8)
    for number in range(100):
        delays.send(b"%d" % number, 1)
    delays.pass_time(1000)
    delays.kill()
    delays.reopen()
    delays.deliver()
    assert len(delays.delivered()) == 100


def test_entries_of_removed_messages_are_skipped(delays: Delays) -> None:
    for number in range(4):
        delays.send(b"%d" % number * 30_000, 1)
    delays.pass_time(1000)
    remove_log_file(delays.store)
    delays.kill()
    delays.reopen()
    before = delays.delivered()
    delays.deliver()
    assert delays.delivered() == before


def test_entries_with_missing_or_damaged_records_are_skipped(delays: Delays, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        delays.send(b"%d" % number, 1)
    delays.pass_time(1000)
    before = delays.delivered()
    delays.kill()
    delays.reopen()
    _, entries = delays.store.queue_entries(SCHEDULE, 0, 0, 3)
    places = [place for place, _, _ in ENTRY_STRUCT.iter_unpack(entries)]
    real = delays.store.record_at

    def record_at(place: int, size: int | None = None) -> memoryview | None:
        found = real(place, size)
        if place == places[1]:
            return None
        return found if place != places[2] or found is None else found[:-1]

    monkeypatch.setattr(delays.store, "record_at", record_at)
    delays.settle()
    monkeypatch.undo()
    delays.deliver()
    assert delays.delivered() == before


def test_a_stop_during_the_search_does_not_lose_its_begin(delays: Delays) -> None:
    delays.send(b"a", 1)
    delays.send(b"b", 2)
    delays.pass_time(1000)
    delays.kill()
    delays.reopen()
    delays.stop()
    delays.reopen()
    delays.pass_time(5000)
    assert delays.delivered() == [b"a", b"b"]


@pytest.mark.parametrize("stop", [False, True])
def test_a_fault_in_the_search_restarts_it(
    delays: Delays, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stop: bool
) -> None:
    for number in range(5):
        delays.send(b"%d" % number, 1)
    delays.send(b"late", 2)
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    delays.pass_time(1000)
    delays.kill()
    delays.reopen()
    real = ProgressRecovery._look

    def look(self: ProgressRecovery, record: memoryview) -> None:
        real(self, record)
        if b"U2" in bytes(record):
            raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(ProgressRecovery, "_look", look)
        if stop:
            delays.stop()
            delays.reopen()
        else:
            assert [next(delays.delivery._settling) for _ in range(2)] == [500, 500]
    assert "delayed messages: [Errno 24] Too many open files" in caplog.text
    delays.pass_time(4000)
    assert delays.delivered() == [*(b"%d" % number for number in range(5)), b"late"]


def test_the_search_begins_near_the_end_of_the_log(tmp_path: Path) -> None:
    """Otherwise a start after a crash would read all that was stored since the last delivery."""
    delays = Delays(tmp_path, commit_log_file_size=64 << 20)
    delays.send(b"a", 1)
    delays.pass_time(1000)
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    place = delays.table.log_offset
    delays.store.append([draft(number, body=bytes(1 << 20)) for number in range(15)])
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    assert delays.table.log_offset == place
    delays.store.append([draft(number, body=bytes(1 << 20)) for number in range(2)])
    delays.store.flush_to(delays.store.max_physical_offset)
    delays.persist()
    assert delays.table.log_offset == delays.store.max_physical_offset
    delays.stop()


@pytest.mark.parametrize("between", [True, False])
def test_removed_and_restored_levels_are_searched_too(delays: Delays, between: bool) -> None:
    """The start after a kill may lack the level of a delivered message."""
    delays.send(b"long", 3)
    if between:
        delays.send(b"short", 1)
    delays.persist()
    delays.pass_time(60_000)
    before = delays.delivered()
    assert b"long" in before
    delays.kill()
    delays.reopen(LEVELS[:2])
    delays.pass_time(5000)
    delays.stop()
    delays.reopen()
    delays.pass_time(120_000)
    assert delays.delivered() == before


def test_any_number_of_messages_may_have_been_skipped(tmp_path: Path) -> None:
    """Skipped messages do not use up the entries among which a copy is searched."""
    settings: dict[str, Any] = {"commit_log_file_size": 1 << 20, "consume_queue_file_size": 20 * 4096}
    delays = Delays(tmp_path, **settings)
    for number in range(1500):
        assert delays.store.append([draft(number, topic=SCHEDULE, properties=b"DELAY\x011", body=b"")])
    delays.send(b"good", 1)
    delays.persist()
    delays.pass_time(1000)
    assert delays.delivered() == [b"good"]
    delays.kill()
    delays = Delays(tmp_path, clock=delays.clock, **settings)
    delays.pass_time(5000)
    assert delays.delivered() == [b"good"]
    assert delays.delivery.dropped == 0
    delays.stop()


@pytest.mark.parametrize("level", ["", "x", "0", "9" * 5000])
def test_a_copy_of_no_level_hides_no_waiting_message(delays: Delays, level: str) -> None:
    delays.send(b"waits", 1)
    delays.persist()
    text = properties_text(REAL_TOPIC="T", REAL_QID="0", DELAY=level)
    assert delays.store.append([draft(1, topic="T", queue_id=0, properties=text.encode(), body=b"looks like one")])
    delays.kill()
    delays.reopen()
    delays.pass_time(1000)
    assert delays.delivered() == [b"looks like one", b"waits"]
