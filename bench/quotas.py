"""Quotas: the latency of other users beside a neighbour that sends ten times its quota, and the quota's accuracy.

Theory: the others are eight producers and as many consumers (`load many`) at a low, steady rate, so that latency shows
any interference. They are measured alone, beside a neighbour at ten times its quota, and beside the same neighbour
without a quota, in turns. The neighbour keeps its rate whatever the answers are, and counts the accepted sends.

    python -m bench.quotas [--quota 10000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from bench.tools import build_load
from compat_tests import remoting
from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import running
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header

OVERLOAD: Final = 10
SLOTS: Final = 10
"""Slots a second in which the neighbour counts."""
_TOPIC: Final = "Greedy"
_CREATE_TOPIC, _UPDATE_BROKER_CONFIG = 17, 25
_TOPIC_FIELDS: Final[Mapping[str, str | int]] = {
    "topic": _TOPIC,
    "defaultTopic": "TBW102",
    "readQueueNums": 4,
    "writeQueueNums": 4,
    "perm": 6,
    "topicFilterType": "SINGLE_TAG",
    "topicSysFlag": 0,
    "order": "false",
}
_SEND_MESSAGE_V2: Final = 310
_BLOCK: Final = 50
_CONNECTIONS: Final = 4
_MOST_UNSENT: Final = 1 << 20
_WINDOW_SECONDS: Final = 10
_START: Final = b'{"code":'
_PASSED: Final = b'{"code":0,'
_REFUSED: Final = b'{"code":215,'
_OTHERS: Final = ("--topic", "Others", "--connections", "8", "--size", "100")


class Neighbour:
    """Sends at a steady rate, and counts the answers by slots of time."""

    def __init__(self, port: int, rate: int) -> None:
        self._rate = rate
        self._selector = selectors.DefaultSelector()
        self._unsent: dict[socket.socket, bytes] = {}
        self._rests: dict[socket.socket, bytes] = {}
        for _ in range(_CONNECTIONS):
            sock = socket.create_connection(("127.0.0.1", port))
            sock.settimeout(0)
            self._unsent[sock] = self._rests[sock] = b""
            self._selector.register(sock, selectors.EVENT_READ)
        self.sent = self.refused = 0
        self.passed: list[int] = []

    def run(self, others: subprocess.Popen[bytes], at_least: float) -> None:
        """Send until the others are done, and so many seconds at least."""
        began = now = time.monotonic()
        block = _frame() * _BLOCK
        while others.poll() is None or now - began < at_least:
            due = min(int((now - began) * self._rate) - self.sent, self._rate // 20)
            socks = [sock for sock, unsent in self._unsent.items() if len(unsent) < _MOST_UNSENT]
            for number in range(due // _BLOCK if socks else 0):
                self._unsent[socks[number % len(socks)]] += block
                self.sent += _BLOCK
            for sock in self._unsent:
                self._flush(sock)
            self._count(int((now - began) * SLOTS))
            now = time.monotonic()
        for sock in self._unsent:
            sock.close()

    def _flush(self, sock: socket.socket) -> None:
        try:
            self._unsent[sock] = self._unsent[sock][sock.send(self._unsent[sock]) :]
        except BlockingIOError:
            return

    def _count(self, slot: int) -> None:
        for key, _ in self._selector.select(0.001):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            data = self._rests[sock] + sock.recv(1 << 20)
            cut = max(data.rfind(_START), 0)  # the last answer may not be whole
            self.passed += [0] * (slot + 1 - len(self.passed))
            self.passed[slot] += data.count(_PASSED, 0, cut)
            self.refused += data.count(_REFUSED, 0, cut)
            self._rests[sock] = data[cut:]


def _frame() -> bytes:
    fields = {"a": "greedy", "b": _TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": ""}
    ext = {**fields, "j": "0", "k": "false", "m": "false"}
    return encode_frame(Header(code=_SEND_MESSAGE_V2, opaque=7, flag=0, version=407, ext=ext), bytes(100), 0)


def farthest(passed: Sequence[int], quota: int) -> float:
    """How far off the quota the worst ten seconds after the first one are, as a part of it."""
    sums = [0, *accumulate(passed)]
    length = _WINDOW_SECONDS * SLOTS
    windows = [sums[at + length] - sums[at] for at in range(SLOTS, len(sums) - length)]
    return max(abs(window / (quota * _WINDOW_SECONDS) - 1) for window in windows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run: the others' latencies in us, and the neighbour's rates a second and accuracy (NaN: there is none)."""

    p50: float
    p99: float
    offered: float = float("nan")
    passed: float = float("nan")
    off: float = float("nan")


def once(load: Path, endpoint: Rocketwire, *, rate: int, quota: int, others_rate: int, seconds: float) -> Sample:
    """Measure the others, beside a neighbour at a rate (0: without)."""
    host, _, port = endpoint.broker.rpartition(":")
    _configure(endpoint, f"{_TOPIC}={quota}/-" if quota else "")
    command = [str(load), "many", "--host", host, "--port", port, *_OTHERS, "--rate", str(others_rate)]
    began = time.monotonic()
    with subprocess.Popen([*command, "--seconds", str(seconds)], stdout=subprocess.PIPE) as others:
        neighbour = Neighbour(int(port), rate) if rate else None
        if neighbour is not None:
            neighbour.run(others, _WINDOW_SECONDS + 3)
        took = time.monotonic() - began
        assert others.stdout is not None
        found: dict[str, Any] = json.loads(others.stdout.read())
    if found["errors"]:
        raise RuntimeError(found["error"])
    if neighbour is None:
        return Sample(p50=found["p50_us"], p99=found["p99_us"])
    return Sample(
        p50=found["p50_us"],
        p99=found["p99_us"],
        offered=neighbour.sent / took,
        passed=sum(neighbour.passed) / took,
        off=farthest(neighbour.passed[:-1], quota) if quota else float("nan"),
    )


def _configure(endpoint: Rocketwire, quotas: str) -> None:
    remoting.request(endpoint.broker, _UPDATE_BROKER_CONFIG, body=f"topicQuotas={quotas}\n".encode())


def main() -> None:
    """Measure, and print a line a kind of run."""
    parser = argparse.ArgumentParser(description="The others' latency beside a neighbour over its quota.")
    parser.add_argument("--quota", type=int, default=10_000)
    parser.add_argument("--others-rate", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    load = build_load()
    rate = OVERLOAD * options.quota
    kinds = {
        "alone": (0, 0),
        f"neighbour at {rate:,}/s, quota {options.quota:,}/s": (rate, options.quota),
        f"neighbour at {rate:,}/s, no quota": (rate, 0),
    }
    samples: dict[str, list[Sample]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, running(Rocketwire(Path(folder))) as endpoint:
        remoting.request(endpoint.broker, _CREATE_TOPIC, _TOPIC_FIELDS)
        for number in range(options.rounds):
            for kind, (sent, quota) in kinds.items():
                done = once(
                    load,
                    endpoint,
                    rate=sent,
                    quota=quota,
                    others_rate=options.others_rate,
                    seconds=options.seconds,
                )
                samples[kind].append(done)
                sys.stderr.write(f"{number + 1}/{options.rounds} {kind}: {done}\n")
    for kind, found in samples.items():
        values = {
            name: statistics.median(getattr(sample, name) for sample in found)
            for name in ("p50", "p99", "offered", "passed", "off")
        }
        sys.stdout.write(f"{kind}: {json.dumps(values)}\n")


if __name__ == "__main__":
    main()
