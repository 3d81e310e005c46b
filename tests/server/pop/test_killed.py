"""POP in a process that is killed: its answers count, and the next process continues."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import send_ext, topic_ext
from tests.server.pop.requests import Got, ack_body, pop_ext, popped
from tests.server.processes import Caller, process

INVISIBLE = 3000


def pop(caller: Caller, invisible_time: int = INVISIBLE, **changes: object) -> list[Got]:
    frame = caller.request(RequestCode.POP_MESSAGE, pop_ext("T", invisible_time=invisible_time, **changes))
    return popped(frame).messages


def send(caller: Caller, *bodies: bytes) -> None:
    for body in bodies:
        assert caller.request(RequestCode.SEND_MESSAGE_V2, send_ext("T"), body).header.code == 0


@pytest.mark.slow
def test_a_kill_loses_no_message_and_delivers_none_twice(tmp_path: Path) -> None:
    every = [b"m%d" % number for number in range(60)]
    acked: set[bytes] = set()
    with process(tmp_path / "store") as server:
        with Caller(server.broker) as caller:
            assert caller.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("T", 1)).header.code == 0
            send(caller, *every)
            first, second = pop(caller, max_msg_nums=20), pop(caller, 500, max_msg_nums=20)
            for some in (first[:10], second[5:15]):
                assert caller.request(RequestCode.BATCH_ACK_MESSAGE, body=ack_body(*some)).header.code == 0
                acked |= {got.body for got in some}
        server.end(signal.SIGKILL)
    with process(tmp_path / "store") as server:
        with Caller(server.broker) as caller:
            now = pop(caller, 60_000, queue_id=0)
            fresh = {got.body for got in now if got.handle.kind == "0"}
            assert fresh == set(every[40:])
            again: dict[bytes, Got] = {got.body: got for got in now if got.handle.kind != "0"}
            until = time.monotonic() + 30
            while again.keys() != set(every[:40]) - acked and time.monotonic() < until:
                for got in pop(caller, 60_000):
                    assert got.body not in again
                    again[got.body] = got
            assert again.keys() == set(every[:40]) - acked
            assert {got.message.reconsume_times for got in again.values()} == {1}
        server.end(signal.SIGKILL)
    with process(tmp_path / "store") as server, Caller(server.broker) as caller:
        time.sleep(0.5)
        assert pop(caller) == []


@pytest.mark.slow
def test_in_order_a_kill_redelivers_no_acknowledged_message(tmp_path: Path) -> None:
    every = [b"m%d" % number for number in range(30)]
    in_order = {"order": True, "queue_id": 0}
    done = 0
    for _ in range(2):
        with process(tmp_path / "store") as server:
            with Caller(server.broker) as caller:
                if not done:
                    assert caller.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("T", 1)).header.code == 0
                    send(caller, *every)
                whole = pop(caller, 300_000, max_msg_nums=10, **in_order)
                assert [got.body for got in whole] == every[done : done + 10]
                assert caller.request(RequestCode.BATCH_ACK_MESSAGE, body=ack_body(*whole)).header.code == 0
                part = pop(caller, 300, max_msg_nums=4, **in_order)
                assert caller.request(RequestCode.BATCH_ACK_MESSAGE, body=ack_body(*part[:2])).header.code == 0
                done += 12
            server.end(signal.SIGKILL)
        time.sleep(0.3)  # until the invisible time of the unacknowledged ones is over
    with process(tmp_path / "store") as server, Caller(server.broker) as caller:
        rest = pop(caller, **in_order)
        assert [got.body for got in rest] == every[done:]
