"""Messages through many connections: each comes to its consumer once, whatever the broker makes of it."""

import json
import socket
import subprocess
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from bench.drivers import LoadFailedError, RawLoad
from rocketwire.wire.frame import Frame
from tests.bench.fake_broker import Answer, FakeBroker, record


class Queues:
    """A broker that stores messages and holds pulls; `copies` of each message sent, `shift` added to its offsets."""

    def __init__(self, *, copies: int = 1, shift: int = 0) -> None:
        self._copies, self._shift = copies, shift
        self._queues: dict[tuple[str, int], list[bytes]] = defaultdict(list)
        self._changed = threading.Condition()
        self.topics: list[str] = []

    def __call__(self, frame: Frame) -> Answer:
        ext = frame.header.ext or {}
        if frame.header.code == 17:
            self.topics.append(ext["topic"])
            assert ext["writeQueueNums"] == "2"
        if frame.header.code == 310:
            with self._changed:
                self._queues[ext["b"], int(ext["e"])] += [bytes(frame.body)] * self._copies
                self._changed.notify_all()
        if frame.header.code == 30:
            return 0, {"offset": "0"}, b""
        return self._pull(ext) if frame.header.code == 11 else (0, {}, b"")

    def _pull(self, ext: dict[str, str]) -> Answer:
        queue, first = self._queues[ext["topic"], int(ext["queueId"])], int(ext["queueOffset"])
        with self._changed:
            if not self._changed.wait_for(lambda: len(queue) > first, 0.5):
                return 19, {"nextBeginOffset": str(first)}, b""
            found = [record(first + self._shift + number, body=body) for number, body in enumerate(queue[first:])]
        return 0, {"nextBeginOffset": str(first + len(found))}, b"".join(found)


def run(load: Path, broker: FakeBroker, *options: str) -> tuple[int, dict[str, Any]]:
    command = [str(load), "many", "--port", str(broker.port), "--topic", "T", "--warmup", "0", "--seconds", "0.3"]
    command += ["--connections", "6", "--topics", "3", "--window", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    return done.returncode, json.loads(done.stdout)


def test_every_message_comes_to_the_consumer_of_its_queue(load: Path) -> None:
    with FakeBroker(Queues()) as broker:
        code, result = run(load, broker)
    assert (code, result["errors"]) == (0, 0)
    sends = [frame.header.ext or {} for frame in broker.requests if frame.header.code == 310]
    assert 0 < result["messages"] <= len(sends)
    assert {(ext["b"], ext["e"]) for ext in sends} == {(f"T-{topic}", queue) for topic in range(3) for queue in "01"}
    pulls = [frame.header.ext or {} for frame in broker.requests if frame.header.code == 11]
    assert {(ext["topic"], ext["consumerGroup"]) for ext in pulls} == {(f"T-{topic}",) * 2 for topic in range(3)}
    assert sum(frame.header.code == 34 for frame in broker.requests) == 6
    assert 0 < result["p50_us"] <= result["p99_us"] < 1e6


def test_a_rate_is_kept(load: Path) -> None:
    queues = Queues()
    with FakeBroker(queues) as broker:
        code, result = run(load, broker, "--rate", "100")
    assert (code, result["errors"]) == (0, 0)
    assert 10 <= sum(frame.header.code == 310 for frame in broker.requests) <= 33
    assert queues.topics == ["T-0", "T-1", "T-2"]


def test_a_message_that_comes_twice_is_fatal(load: Path) -> None:
    with FakeBroker(Queues(copies=2)) as broker:
        code, result = run(load, broker)
    assert code == 1
    assert "messages came" in result["error"]


def test_a_message_of_another_offset_is_fatal(load: Path) -> None:
    with FakeBroker(Queues(shift=1)) as broker:
        code, result = run(load, broker)
    assert (code, result["error"]) == (1, "the held pull at 0 was not answered with whole records")


def test_a_refused_send_is_fatal(load: Path) -> None:
    queues = Queues()
    with FakeBroker(lambda frame: (2, {}, b"") if frame.header.code == 310 else queues(frame)) as broker:
        code, result = run(load, broker)
    assert (code, result["error"]) == (1, "send: code 2, remark none")


def test_connections_that_are_no_multiple_of_the_topics_are_refused(load: Path) -> None:
    done = subprocess.run([load, "many", "--connections", "5", "--topics", "2"], capture_output=True, check=False)
    assert done.returncode == 2


class Side:
    """What RawLoad needs to know of a side."""

    name = "side"

    def __init__(self, port: int) -> None:
        self.broker_port = port


class Watched(FakeBroker):
    """Counts the connections that were closed."""

    def __init__(self, code: int) -> None:
        super().__init__(lambda frame: (code if frame.header.code == 310 else 0, {}, b""))
        self.closed = threading.Semaphore(0)

    def serve(self, client: socket.socket) -> None:
        super().serve(client)
        self.closed.release()


def raw_load(load: Path) -> RawLoad:
    return RawLoad(load)


def test_idle_connections_stay_until_they_are_no_longer_wanted(load: Path) -> None:
    with Watched(0) as broker:
        side: Any = Side(broker.port)
        with raw_load(load).held(side, 20):
            assert broker.closed.acquire(timeout=120)  # the one that made the topic
            assert not broker.closed.acquire(timeout=0.2)
            assert sum(frame.header.code == 310 for frame in broker.requests) == 20
        assert all(broker.closed.acquire(timeout=120) for _ in range(20))


def test_a_refused_idle_connection_is_an_error(load: Path) -> None:
    with Watched(1) as broker:
        side: Any = Side(broker.port)
        held = raw_load(load).held(side, 20)
        with pytest.raises(LoadFailedError, match="20 idle connections: send: code 1"):
            held.__enter__()
