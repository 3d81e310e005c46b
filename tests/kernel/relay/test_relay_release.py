"""Pairs that the relay hands back to Python: nothing of either stream is lost, doubled or out of order."""

import os
import random
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rocketwire import _kernel as kernel
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
from tests.kernel.relay.relay_support import NEW, OLD, PATIENCE, Pair, events, exactly, fill, frame, to_the_end

ANSWER = frame(b"body", b'{"msgId":"%b00000000000000FF"}' % OLD)
REWRITTEN = ANSWER.replace(OLD, NEW)


@pytest.fixture
def relay() -> Iterator[Any]:
    made = kernel.Relay(1 << 20)
    yield made
    made.close()


@pytest.fixture
def pair(relay: Any) -> Pair:
    return Pair(relay)


class Handed:
    """What an event hands back."""

    def __init__(self, relay: Any, number: int) -> None:
        [(reported, kind, handed)] = events(relay)
        assert (reported, kind) == (number, "released")
        client, upstream, *self.unsent, self.from_client, self.from_upstream = handed
        self.sockets = socket.socket(fileno=client), socket.socket(fileno=upstream)

    def close(self) -> None:
        for each in self.sockets:
            each.close()


def nothing_reported(relay: Any) -> bool:
    return not select.select([relay], [], [], 0.05)[0]


def test_a_quiet_pair_is_handed_back_at_once(relay: Any, pair: Pair) -> None:
    relay.release(pair.number)
    relay.release(pair.number)
    handed = Handed(relay, pair.number)
    assert (handed.unsent, handed.from_client, handed.from_upstream) == ([b"", b""], b"", b"")
    assert relay.counts()[4] == 0
    client, upstream = handed.sockets
    client.sendall(b"to client")
    upstream.sendall(b"to upstream")
    assert (pair.client.recv(100), pair.upstream.recv(100)) == (b"to client", b"to upstream")
    relay.drop(pair.number)
    assert nothing_reported(relay)
    handed.close()


def test_a_pair_that_has_not_begun_is_handed_back_with_the_beginnings_of_frames(relay: Any) -> None:
    pair = Pair(relay, to_upstream=frame(b"1") + frame()[:5], to_client=ANSWER + ANSWER[:-5])
    relay.release(pair.number)
    handed = Handed(relay, pair.number)
    assert handed.from_client == frame()[:5]
    assert handed.from_upstream == ANSWER[:-5]
    assert exactly(pair.client, len(ANSWER)) == REWRITTEN
    assert exactly(pair.upstream, 10) == frame(b"1")
    handed.close()


def test_the_clients_frame_ends_first_and_what_follows_is_not_read(relay: Any, pair: Pair) -> None:
    long = frame(bytes(300_000))
    pair.client.sendall(long[:9])
    assert exactly(pair.upstream, 9) == long[:9]
    relay.release(pair.number)
    assert nothing_reported(relay)
    pair.upstream.sendall(ANSWER)  # answers still come
    assert exactly(pair.client, len(ANSWER)) == REWRITTEN
    reader = threading.Thread(target=exactly, args=[pair.upstream, len(long) - 9])
    reader.start()
    pair.client.sendall(long[9:] + frame(b"next"))
    handed = Handed(relay, pair.number)
    assert handed.unsent[0] == b""
    handed.sockets[1].sendall(handed.unsent[1])
    reader.join()
    assert handed.from_client == b""
    assert exactly(handed.sockets[0], 13) == frame(b"next")
    handed.close()


def test_the_upstreams_frame_ends_too(relay: Any, pair: Pair) -> None:
    pair.upstream.sendall(ANSWER[:-2])
    assert exactly(pair.client, len(ANSWER) - 2) == REWRITTEN[:-2]
    relay.release(pair.number)
    assert nothing_reported(relay)
    pair.client.sendall(frame(b"next"))  # which is no longer read
    assert nothing_reported(relay)
    pair.upstream.sendall(ANSWER[-2:] + ANSWER)
    handed = Handed(relay, pair.number)
    assert exactly(pair.client, 2) == ANSWER[-2:]
    client, upstream = handed.sockets
    assert handed.from_client + exactly(client, 13 - len(handed.from_client)) == frame(b"next")
    assert handed.from_upstream + exactly(upstream, len(ANSWER) - len(handed.from_upstream)) == ANSWER
    handed.close()


def test_what_a_client_does_not_read_is_handed_back(relay: Any, pair: Pair) -> None:
    answer = frame(bytes(1000))
    total = fill(pair.upstream, answer)
    rest = -total % len(answer)
    sender = threading.Thread(target=pair.upstream.sendall, args=[answer[len(answer) - rest :]])
    sender.start()
    relay.release(pair.number)
    got = b""
    while nothing_reported(relay):  # the frame in progress ends only when the client reads
        got += pair.client.recv(1 << 14)
    handed = Handed(relay, pair.number)
    assert handed.unsent[0] != b""
    assert handed.unsent[1] == b""
    got += drained(pair.client) + handed.unsent[0] + handed.from_upstream
    got += exactly(handed.sockets[1], total + rest - len(got))
    sender.join()
    assert got == answer * ((total + rest) // len(answer))
    handed.close()


def drained(end: socket.socket) -> bytes:
    end.setblocking(False)
    parts = []
    try:
        while part := end.recv(1 << 20):
            parts.append(part)
    except BlockingIOError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("rest", [b"", frame(b"long")[9:11]])
def test_a_pair_that_ends_before_its_frame_is_not_handed_back(relay: Any, pair: Pair, rest: bytes) -> None:
    pair.client.sendall(frame(b"long")[:9])
    exactly(pair.upstream, 9)
    relay.release(pair.number)
    pair.client.sendall(rest)
    pair.client.close()
    assert to_the_end(pair.upstream) == rest
    pair.upstream.close()
    assert events(relay) == [(pair.number, "client", None)]


def test_it_may_be_dropped_while_it_is_to_be_released(relay: Any, pair: Pair) -> None:
    pair.client.sendall(frame(b"long")[:9])
    exactly(pair.upstream, 9)
    relay.release(pair.number)
    relay.drop(pair.number)
    assert events(relay) == [(pair.number, "dropped", None)]


def test_descriptors_of_a_pair_that_is_not_taken_are_closed(relay: Any, pair: Pair) -> None:
    relay.release(pair.number)
    assert select.select([relay], [], [], 60)[0]
    relay.close()
    assert to_the_end(pair.client) == to_the_end(pair.upstream) == b""


@pytest.mark.parametrize("seed", range(4))
def test_in_the_middle_of_traffic_nothing_is_lost_or_out_of_order(seed: int) -> None:
    """A pair is taken from the relay and given back, over and over."""
    draw = random.Random(seed)
    relay = kernel.Relay(draw.choice([0, 1 << 10, 1 << 20]))
    pair = Pair(relay, tcp=True)
    requests = [frame(b"%d" % each * draw.randrange(600)) for each in range(8000)]
    answers = [frame(bytes(draw.randrange(900)), b'{"msgId":"%b%016X"}' % (OLD, each)) for each in range(8000)]
    got: dict[str, bytes] = {}
    often_released = threading.Event()

    def send(end: socket.socket, frames: list[bytes]) -> None:
        end.sendall(b"".join(frames[:4000]))
        often_released.wait(PATIENCE)
        end.sendall(b"".join(frames[4000:]))

    def receive(name: str, end: socket.socket, frames: list[bytes]) -> None:
        got[name] = exactly(end, sum(map(len, frames)))

    tasks = [
        threading.Thread(target=send, args=[pair.client, requests]),
        threading.Thread(target=send, args=[pair.upstream, answers]),
        threading.Thread(target=receive, args=["requests", pair.upstream, requests]),
        threading.Thread(target=receive, args=["answers", pair.client, answers]),
    ]
    for task in tasks:
        task.start()
    number, times = pair.number, 0
    while times < 3 or any(task.is_alive() for task in tasks):
        relay.release(number)
        handed = Handed(relay, number)
        for end, unsent in zip(handed.sockets, handed.unsent, strict=True):
            end.setblocking(True)
            end.sendall(unsent)
        client, upstream = (os.dup(each.fileno()) for each in handed.sockets)
        handed.close()
        number = relay.add(client, upstream, handed.from_client, handed.from_upstream, OLD, NEW, MAX_FRAME_LENGTH)
        times += 1
        if times == 3:
            often_released.set()
        time.sleep(draw.random() * 0.002)
    for task in tasks:
        task.join()
    assert got == {"requests": b"".join(requests), "answers": b"".join(answers).replace(OLD, NEW)}
    relay.close()
