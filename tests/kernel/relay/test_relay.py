"""Pairs of sockets that the kernel relays between: what passes, and how a pair ends."""

import contextlib
import gc
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire import _kernel as kernel
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
from tests.kernel.relay.relay_support import NEW, OLD, Pair, events, exactly, fill, frame, tcp_pair, to_the_end

HIGH_WATER = 1 << 20
ANSWER = frame(b"body", b'{"msgId":"%b00000000000000FF"}' % OLD)
REWRITTEN = ANSWER.replace(OLD, NEW)


def wait_for(reached: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.001)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.fixture
def relay() -> Iterator[Any]:
    made = kernel.Relay(HIGH_WATER)
    yield made
    made.close()


@pytest.fixture
def pair(relay: Any) -> Pair:
    return Pair(relay)


def test_frames_pass_both_ways_and_are_counted(relay: Any, pair: Pair) -> None:
    pair.client.sendall(ANSWER)
    assert exactly(pair.upstream, len(ANSWER)) == ANSWER  # the bytes of a client stay as they are
    pair.upstream.sendall(ANSWER + frame())
    assert exactly(pair.client, len(ANSWER) + 9) == REWRITTEN + frame()
    assert relay.counts() == (1, len(ANSWER), 2, len(ANSWER) + 9, 1, 0)


def test_without_hosts_nothing_is_rewritten(relay: Any) -> None:
    pair = Pair(relay, hosts=(b"", b""))
    pair.upstream.sendall(ANSWER[:20])
    assert exactly(pair.client, 20) == ANSWER[:20]  # nor is a header waited for


def test_what_was_read_before_comes_first(relay: Any) -> None:
    pair = Pair(relay, to_upstream=frame(b"first") + frame()[:3], to_client=ANSWER + ANSWER[:12])
    pair.client.sendall(frame()[3:])
    assert exactly(pair.upstream, 23) == frame(b"first") + frame()
    pair.upstream.sendall(ANSWER[12:])
    assert exactly(pair.client, 2 * len(ANSWER)) == 2 * REWRITTEN


def test_a_header_is_held_until_it_is_whole_and_a_body_is_not(pair: Pair) -> None:
    for size in range(1, len(ANSWER) - 4):
        pair.upstream.sendall(ANSWER[size - 1 : size])
        time.sleep(0.0005)
    assert select.select([pair.client], [], [], 0.05)[0] == []
    pair.upstream.sendall(ANSWER[-5:-3])
    assert exactly(pair.client, len(ANSWER) - 3) == REWRITTEN[:-3]
    pair.upstream.sendall(ANSWER[-3:])
    assert exactly(pair.client, 3) == ANSWER[-3:]


def test_a_long_header_is_rewritten_and_one_beyond_the_limit_passes(pair: Pair) -> None:
    ids = b",".join([OLD + b"00000000000000FF"] * 30_000)
    answer = frame(b"b", b'{"msgId":"%b"}' % ids)
    beyond = frame(b"b", b'{"msgId":"%b"}' % (ids + b"," + ids))
    sender = threading.Thread(target=pair.upstream.sendall, args=[answer + beyond])
    sender.start()
    assert exactly(pair.client, len(answer)) == answer.replace(OLD, NEW)
    assert exactly(pair.client, len(beyond)) == beyond
    sender.join()


@pytest.mark.parametrize("tcp", [False, True])
def test_when_the_upstream_closes_the_client_has_all_that_it_sent(relay: Any, tcp: bool) -> None:
    pair = Pair(relay, tcp=tcp)
    body = bytes(3 << 20)
    pair.upstream.sendall(frame(body[: 1 << 16]) * 10)

    def send_and_close() -> None:
        pair.upstream.sendall(frame(body))
        pair.upstream.close()

    sender = threading.Thread(target=send_and_close)
    sender.start()
    time.sleep(0.05)
    assert to_the_end(pair.client) == frame(body[: 1 << 16]) * 10 + frame(body)
    sender.join()
    pair.client.close()
    assert events(relay) == [(pair.number, "upstream", None)]


def test_when_the_client_closes_the_upstream_has_all_that_it_sent(relay: Any, pair: Pair) -> None:
    pair.client.sendall(frame() + frame(b"rest")[:10])
    pair.client.close()
    assert to_the_end(pair.upstream) == frame() + frame(b"rest")[:10]
    assert relay.events() == []
    pair.upstream.close()
    assert events(relay) == [(pair.number, "client", None)]
    assert relay.counts()[4] == 0


def test_a_side_that_has_sent_its_last_still_receives(relay: Any, pair: Pair) -> None:
    pair.client.sendall(frame(b"last"))
    pair.client.shutdown(socket.SHUT_WR)
    assert to_the_end(pair.upstream) == frame(b"last")
    pair.upstream.sendall(ANSWER)
    assert exactly(pair.client, len(ANSWER)) == REWRITTEN
    pair.upstream.close()
    assert to_the_end(pair.client) == b""
    assert events(relay) == [(pair.number, "client", None)]


def reset(end: socket.socket) -> None:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def test_a_reset_by_either_side_ends_the_pair(relay: Any) -> None:
    one, other = (Pair(relay, tcp=True) for _ in range(2))
    reset(one.client)
    assert to_the_end(one.upstream) == b""
    assert events(relay) == [(one.number, "client", None)]
    other.upstream.sendall(ANSWER)
    assert exactly(other.client, len(ANSWER)) == REWRITTEN
    reset(other.upstream)
    assert to_the_end(other.client) == b""
    assert events(relay) == [(other.number, "upstream", None)]
    one.close()
    other.close()


def test_a_client_that_leaves_while_answers_wait_for_it(relay: Any) -> None:
    pair = Pair(relay, tcp=True)
    fill(pair.upstream, frame(bytes(1 << 20)))
    reset(pair.client)
    assert events(relay) == [(pair.number, "client", None)]


@pytest.mark.parametrize(
    "bad", [b"\xff" * 8, bytes(8), b"\0\0\0\4\0\0\0\1", frame(bytes(92)), b"\x7f\xff\xff\xff\0\0\0\0"], ids=repr
)
@pytest.mark.parametrize("by", ["client", "upstream"])
def test_a_frame_that_cannot_be_ends_the_pair_behind_those_before(relay: Any, by: str, bad: bytes) -> None:
    pair = Pair(relay, longest_frame=100)
    sender, receiver = pair.ends if by == "client" else pair.ends[::-1]
    sender.sendall(frame(bytes(91)) + bad + frame())
    assert to_the_end(receiver) == frame(bytes(91))
    assert to_the_end(sender) == b""
    assert events(relay) == [(pair.number, f"{by} misread", None)]


def test_of_one_that_does_not_read_the_other_is_not_read(relay: Any, pair: Pair) -> None:
    other = Pair(relay)
    answer = frame(bytes(60_000))
    total = fill(pair.upstream, answer)
    assert total < HIGH_WATER + kernel.READ_BYTES + (1 << 20)  # and what the system holds for two sockets
    other.client.sendall(frame())
    assert exactly(other.upstream, 9) == frame()
    pair.client.sendall(frame())
    assert exactly(pair.upstream, 9) == frame()
    rest = answer * (total // len(answer) + 1)
    sender = threading.Thread(target=pair.upstream.sendall, args=[rest[total:]])
    sender.start()
    assert exactly(pair.client, len(rest)) == rest
    sender.join()
    other.close()


def test_both_sides_send_much_at_once(pair: Pair) -> None:
    requests = b"".join(frame(bytes([each % 251]) * (each * 37 % 5000)) for each in range(4000))
    answers = b"".join(frame(bytes(each * 31 % 4000), b'{"msgId":"%b%016X"}' % (OLD, each)) for each in range(4000))
    senders = [
        threading.Thread(target=pair.client.sendall, args=[requests]),
        threading.Thread(target=pair.upstream.sendall, args=[answers]),
    ]
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(exactly(pair.upstream, len(requests))))
    for thread in (*senders, reader):
        thread.start()
    assert exactly(pair.client, len(answers)) == answers.replace(OLD, NEW)
    for thread in (*senders, reader):
        thread.join()
    assert got == [requests]


def test_a_pair_that_is_dropped_is_closed_and_reported_once(relay: Any, pair: Pair) -> None:
    relay.drop(pair.number)
    relay.drop(pair.number)
    assert to_the_end(pair.client) == to_the_end(pair.upstream) == b""
    relay.release(pair.number)
    assert events(relay) == [(pair.number, "dropped", None)]
    relay.drop(pair.number)
    relay.release(pair.number + 1)
    assert relay.events() == []


def test_pairs_that_are_silent_are_named(relay: Any, pair: Pair) -> None:
    assert relay.idle(0) == [pair.number]
    assert relay.idle(1000) == []
    time.sleep(0.3)
    assert relay.idle(0.2) == [pair.number]
    pair.upstream.sendall(frame())
    exactly(pair.client, 9)
    assert relay.idle(0.2) == []


def test_two_thousand_pairs(relay: Any) -> None:
    before = open_descriptors()
    pairs = [Pair(relay) for _ in range(2000)]
    assert len({pair.number for pair in pairs}) == 2000
    for each, pair in enumerate(pairs):
        pair.client.sendall(frame(b"%d" % each))
    for each, pair in enumerate(pairs):
        assert exactly(pair.upstream, 9 + len(b"%d" % each)) == frame(b"%d" % each)
    assert relay.counts()[4] == 2000
    for pair in pairs[::2]:
        relay.drop(pair.number)
    for pair in pairs[1::2]:
        pair.close()
    assert {number for number, _, _ in events(relay, 2000)} == {pair.number for pair in pairs}
    assert relay.counts()[4] == 0
    for pair in pairs[::2]:
        pair.close()
    assert open_descriptors() <= before  # fewer, if what others left was collected meanwhile


def busy(relay: Any, count: int) -> list[Pair]:
    """Pairs of which one side sends without end."""
    pairs = [Pair(relay) for _ in range(count)]

    def send(end: socket.socket) -> None:
        try:
            while True:
                end.sendall(frame(bytes(5000)))
        except OSError:
            return

    for pair in pairs:
        threading.Thread(target=send, args=[pair.upstream], daemon=True).start()
    return pairs


def test_closing_while_it_is_busy_closes_all(relay: Any) -> None:
    pairs = busy(relay, 10)
    for pair in pairs:
        exactly(pair.client, 1 << 20)
    relay.close()
    for pair in pairs:
        to_the_end(pair.client)
        pair.close()
    relay.close()
    assert relay.counts()[4] == 0
    assert relay.events() == relay.idle(0) == []
    relay.drop(pairs[0].number)
    relay.release(pairs[0].number)
    with pytest.raises(ValueError, match="closed"):
        relay.add(-1, -1, b"", b"", b"", b"", 100)


def test_a_relay_without_references_closes_all() -> None:
    gc.collect()  # what other tests left
    before = open_descriptors()
    relay = kernel.Relay(HIGH_WATER)
    pairs = busy(relay, 3)
    del relay
    gc.collect()
    for pair in pairs:
        to_the_end(pair.client)
        pair.close()
    wait_for(lambda: open_descriptors() <= before)


def test_an_interpreter_that_ends_does_not_wait_for_it() -> None:
    text = """
import socket
from rocketwire import _kernel as kernel
relay = kernel.Relay(1 << 20)
ends = [socket.socketpair() for _ in range(2)]
relay.add(ends[0][0].detach(), ends[1][0].detach(), b"", b"", b"", b"", 1 << 20)
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    subprocess.run([sys.executable, "-c", text], env=environment, check=True, timeout=60)


def test_a_relay_without_pairs_has_no_thread() -> None:
    before = threads()
    relay = kernel.Relay(HIGH_WATER)
    assert threads() == before
    assert [*relay.events(), *relay.idle(0)] == []
    assert relay.counts() == (0, 0, 0, 0, 0, 0)
    relay.close()


def test_what_is_no_socket_ends_at_once(relay: Any) -> None:
    with Path(__file__).open("rb") as file:
        far, near = tcp_pair()
        number = relay.add(near.detach(), os.dup(file.fileno()), b"", b"", b"", b"", 100)
    assert events(relay) == [(number, "dropped", None)]
    assert to_the_end(far) == b""
    far.close()


@pytest.mark.parametrize(
    ("hosts", "longest", "text"),
    [
        ((b"AA", b"B"), 100, "one length"),
        ((b"A" * 41, b"B" * 41), 100, "40 digits"),
        ((b"", b""), 7, "no frame"),
        ((b"", b""), MAX_FRAME_LENGTH + 1, "no frame"),
    ],
)
def test_what_is_refused_keeps_its_sockets(relay: Any, hosts: tuple[bytes, bytes], longest: int, text: str) -> None:
    one, other = socket.socketpair()
    with pytest.raises(ValueError, match=text):
        relay.add(one.fileno(), other.fileno(), b"", b"", *hosts, longest)
    one.sendall(b"x")
    assert other.recv(1) == b"x"
    one.close()
    other.close()


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="negative"):
        kernel.Relay(-1)
    relay: Any = kernel.Relay(high_water=0)
    for call in (relay.drop, relay.release, relay.idle):
        with pytest.raises(TypeError):
            call("1")


def test_slow_readers_do_not_fill_the_memory(relay: Any) -> None:
    """Each may have a megabyte, all together the bound, and little more for each of them."""
    bound = 4 << 20
    relay.bound(bound)
    pairs = [Pair(relay) for _ in range(40)]
    data = frame(bytes(1 << 20))
    sent = [fill_soon(each.upstream, data) for each in pairs]
    unsent = relay.counts()[5]
    assert HIGH_WATER < unsent < bound + len(pairs) * (16 << 10) + 2 * HIGH_WATER
    for each, count in zip(pairs, sent, strict=True):
        assert len(exactly(each.client, count)) == count  # they read after all, and miss nothing
    wait_for(lambda: relay.counts()[5] == 0)
    for each in pairs:
        each.close()


def test_what_ends_is_not_counted_as_unsent(relay: Any, pair: Pair) -> None:
    fill_soon(pair.upstream, frame(bytes(1 << 20)))
    wait_for(lambda: relay.counts()[5] > 0)
    relay.drop(pair.number)
    events(relay)
    assert relay.counts()[5] == 0


def fill_soon(end: socket.socket, data: bytes) -> int:
    """As `fill`, but without a long wait for room."""
    total = 0
    end.settimeout(0.05)
    with contextlib.suppress(TimeoutError):
        while total < 3 << 20:
            total += end.send(data[total % len(data) :])
    end.settimeout(60)
    return total
