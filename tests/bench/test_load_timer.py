"""Mode timer of the load generator: each message once, not early, and how late."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.frame import Frame
from rocketwire.wire.headers._codec import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.properties import decode_properties
from tests.bench.fake_broker import Answer, FakeBroker, record
from tests.bench.fake_server import run
from tests.bench.test_load_frames import dump, golden_header, shape
from tests.bench.test_load_run import SENT

FAST = ("--ahead", "0.2", "--patience", "0.2", "--window", "4")


class Timer:
    """A broker of one queue that has each message in its topic at once, as if stored `late` ms after it was due."""

    def __init__(self, *, late: int = 7, lost: int = 0, twice: int = 0, busy: int = 0, shift: int = 0) -> None:
        self.late, self.lost, self.twice, self.busy, self.shift = late, lost, twice, busy, shift
        self.properties: list[bytes] = []
        self.due: list[int] = []

    def _send(self, frame: Frame) -> Answer:
        header = decode_ext(SendMessageRequestHeader, frame.header.ext, short=True)
        if self.busy:
            self.busy -= 1
            return 2, {}, b""
        known = decode_properties(header.properties or "")
        due = int(known["TIMER_DELIVER_MS"])
        if self.lost:
            self.lost -= 1
            return SENT
        known["TIMER_DELIVER_MS"] = str(due + self.shift)
        text = b"".join(f"{name}\1{value}\2".encode() for name, value in known.items())
        for _ in range(2 if self.twice else 1):
            self.properties.append(text)
            self.due.append(due)
        self.twice -= 1 if self.twice else 0
        return SENT

    def _record(self, offset: int) -> bytes:
        return record(offset, stored=self.due[offset] + self.late, properties=self.properties[offset])

    def __call__(self, frame: Frame) -> Answer:
        ext = frame.header.ext or {}
        if frame.header.code == 310:
            return self._send(frame)
        if frame.header.code == 30:
            return 0, {"offset": str(len(self.due))}, b""
        if frame.header.code == 11:
            first = int(ext["queueOffset"])
            until = min(first + int(ext["maxMsgNums"]), len(self.due))
            return 0, {"nextBeginOffset": str(until)}, b"".join(map(self._record, range(first, until)))
        return 0, {}, b""


def timed(load: Path, timer: Timer, *options: str) -> tuple[int, dict[str, Any]]:
    with FakeBroker(timer) as broker:
        return run(load, broker, "timer", "--queues", "1", *FAST, *options)


def test_a_send_with_a_time_is_the_java_clients(load: Path) -> None:
    before = time.time() * 1000
    _, headers = dump(load, "timer", "--dump", "1", "--tags", "TagA", "--keys", "--ahead", "5")
    assert shape(headers[0]) == shape(golden_header("send_oneway", 310))
    (frame, *_), _ = dump(load, "timer", "--dump", "1", "--ahead", "5", "--tags", "TagA", "--keys")
    properties = decode_properties((frame.header.ext or {})["i"])
    # As client 5.5.0 sends it, in golden wire/5.5.0/timer_recall.
    assert list(properties) == ["KEYS", "TIMER_DELIVER_MS", "UNIQ_KEY", "WAIT", "TAGS"]
    assert before + 4000 < int(properties["TIMER_DELIVER_MS"]) < before + 60_000


def test_times_are_spread_from_a_full_second_on_and_lateness_is_from_them_to_the_store(load: Path) -> None:
    timer = Timer(late=57, busy=7)
    code, result = timed(load, timer, "--count", "50", "--span", "0.2")
    assert (code, result["errors"], result["messages"], result["delivered"]) == (0, 0, 50, 50)
    assert [due - min(timer.due) for due in sorted(timer.due)] == list(range(0, 200, 4))
    assert min(timer.due) % 1000 == 0
    assert result["max_ms"] == 57
    assert result["p50_ms"] == pytest.approx(57, rel=0.02)
    assert (result["missing"], result["duplicates"], result["early"]) == (0, 0, 0)
    assert timer.busy == 0  # what was refused as busy was sent again


def test_what_comes_early_or_twice_is_counted(load: Path) -> None:
    _, result = timed(load, Timer(late=-30, twice=3), "--count", "20", "--span", "0")
    assert (result["early"], result["early_max_ms"]) == (20, 30)
    assert (result["delivered"], result["duplicates"]) == (20, 3)


def test_what_does_not_come_is_late_until_the_run_ends(load: Path) -> None:
    code, result = timed(load, Timer(lost=5), "--count", "20", "--span", "0")
    assert (code, result["delivered"], result["missing"]) == (0, 15, 5)
    assert result["max_ms"] >= 200
    assert result["drain_seconds"] >= 0.2


def test_a_paced_run_sends_at_its_pace(load: Path) -> None:
    code, result = timed(load, Timer(), "--count", "300", "--span", "0.3", "--paced")
    assert (code, result["delivered"]) == (0, 300)
    assert result["send_seconds"] >= 0.29
    assert result["half_rate"] == pytest.approx(1000, rel=0.1)
    assert result["send_lag_ms"] > 0


def test_another_due_time_is_fatal(load: Path) -> None:
    code, result = timed(load, Timer(shift=1), "--count", "20", "--span", "0")
    assert code == 1
    assert "was delivered with another due time" in result["error"]


def test_another_refusal_is_fatal(load: Path) -> None:
    with FakeBroker(lambda frame: (0, {"offset": "0"}, b"") if frame.header.code == 30 else (13, {}, b"")) as broker:
        code, result = run(load, broker, "timer", "--count", "5", *FAST)
    assert (code, result["error"]) == (1, "timer: code 13, remark none")


def test_a_run_needs_a_count(load: Path) -> None:
    done = subprocess.run([load, "timer"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("load: timer: a count is needed")
