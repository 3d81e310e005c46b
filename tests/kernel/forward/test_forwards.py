"""Sends of calls to brokers in C: their frames, and the answers made of brokers' frames, are those of Python."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.remoting.core.session import Response
from rocketwire.server.grpc.kernel import PYTHON_PROPERTIES, SEND
from rocketwire.server.grpc.metadata import CLIENT_ID
from rocketwire.server.grpc.sending import send_response
from rocketwire.server.remote_calls.answers import reply_of
from rocketwire.server.remote_calls.forwarding import send_texts
from rocketwire.server.upstream.broker_connection import FORWARDED
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import decode_frame, encode_frame
from rocketwire.wire.grpc import service_pb2
from rocketwire.wire.grpc.queue_choice import queue_of_group
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.http2.events import CALL
from tests.kernel.fuzz.calls import NOW, REMOTE
from tests.kernel.fuzz.forwards import ALL_TYPES, HEADERS, forwards, serve
from tests.kernel.grpc.test_send_calls import request

TOPIC: Final = "orders"
DEADLINE: Final = 5.0


class Forwarding:
    """The sends to a topic with these queues at each broker, and the connections to the brokers."""

    def __init__(self, *queues: int, avoided: tuple[int, ...] = (), types: int = ALL_TYPES, **limits: int) -> None:
        self.lines = [kernel.ConnectionSends(owner=number) for number in range(len(queues))]
        self.requests: list[str] = []
        shares = tuple((line, queues[at], at in avoided) for at, line in enumerate(self.lines))

        def plan(topic: str) -> Any:
            self.requests.append(topic)
            return None if topic == "unknown" else (types, send_texts(topic), shares)

        self.calls = forwards(plan=plan)
        for name, value in limits.items():
            setattr(self.calls, name, value)

    def serve(self, *payloads: bytes, deadline: float = DEADLINE) -> tuple[int, int, list[tuple[Any, bytes]]]:
        """Forward calls of the connection "here", with the streams 1, 3, ..."""
        return serve(self.calls, *payloads, deadline=deadline)

    def frames(self, *payloads: bytes) -> dict[int, list[bytes]]:
        """The frames of calls that are all taken, by the number of the broker."""
        served, _, written = self.serve(*payloads)
        assert served == len(payloads)
        return {owner: cut(frames) for owner, frames in written}


def cut(data: bytes) -> list[bytes]:
    """The frames in some bytes."""
    found = []
    while data:
        size = 4 + int.from_bytes(data[:4], "big")
        found.append(data[:size])
        data = data[size:]
    return found


def payload_of(body: bytes = b"body", topic: str = TOPIC, **system: Any) -> bytes:
    return bytes(request({}, {"message_id": "id", **system}, body, topic).SerializeToString())


def answer(opaque: int, code: int = 0, remark: str | None = None, **fields: str) -> bytes:
    """A broker's answer."""
    header = Header(code=code, opaque=opaque, flag=FLAG_RESPONSE, remark=remark, ext=fields or None)
    return encode_frame(header)


def stored(opaque: int, offset: int = 4) -> bytes:
    """The answer to a stored message."""
    return answer(opaque, msgId="7F" * 16, queueId="1", queueOffset=str(offset))


def queues_of(frames: list[bytes]) -> list[int]:
    return [int((decode_frame(each).header.ext or {})["e"]) for each in frames]


def test_messages_take_turns_over_the_queues_of_all_brokers() -> None:
    forwarding = Forwarding(2, 3)
    found = forwarding.frames(*[payload_of()] * 11)
    assert {owner: queues_of(frames) for owner, frames in found.items()} == {0: [0, 1, 0, 1, 0], 1: [0, 1, 2, 0, 1, 2]}
    assert forwarding.requests == [TOPIC]
    assert queues_of(forwarding.frames(payload_of())[0]) == [1]


def test_a_broker_that_is_avoided_takes_message_groups_only() -> None:
    forwarding = Forwarding(2, 3, 1, avoided=(1,))
    assert {owner: queues_of(frames) for owner, frames in forwarding.frames(*[payload_of()] * 4).items()} == {
        0: [0, 1, 0],
        2: [0],
    }
    places = {}
    for number in range(30):
        group = f"group{number}"
        ((owner, (frame,)),) = forwarding.frames(payload_of(message_group=group)).items()
        places[queue_of_group(group, 6)] = owner, queues_of([frame])[0]
    assert places == {0: (0, 0), 1: (0, 1), 2: (1, 0), 3: (1, 1), 4: (1, 2), 5: (2, 0)}


@pytest.mark.parametrize(
    "left",
    [
        payload_of(b""),
        payload_of(topic="unknown"),
        payload_of(message_id="x" * 80),
        payload_of(b"x" * 101),
        payload_of(message_group="g"),
        payload_of(message_type=4),
        payload_of(delivery_timestamp={"seconds": NOW // 1000 + 86_401}),
    ],
)
def test_from_the_first_call_that_is_not_plain_all_are_for_python(left: bytes) -> None:
    forwarding = Forwarding(4, types=5, body_bytes=100)
    served, _, ((_, frames),) = forwarding.serve(payload_of(b"x" * 100), left, payload_of())
    assert (served, len(cut(frames))) == (1, 1)


def test_other_events_are_for_python() -> None:
    forwarding = Forwarding(1)
    for event in [
        (CALL, 1, "/other", HEADERS, payload_of()),
        (CALL, 1, SEND, {}, payload_of()),
        (CALL, 1, SEND, {CLIENT_ID: " "}, payload_of()),
        (CALL + 1, 1, SEND, HEADERS, payload_of()),
        (CALL, 1, SEND, HEADERS, "text"),
        (CALL,),
    ]:
        assert forwarding.calls.serve([event], "here", REMOTE, NOW, DEADLINE) == (0, 0, [])


def test_without_a_connection_or_a_plan_calls_are_for_python() -> None:
    for plan in [(0, (), ()), (ALL_TYPES, send_texts(TOPIC), ((None, 2, False),)), (ALL_TYPES, send_texts(TOPIC), ())]:
        calls = kernel.CallForwards(
            plan=lambda _, plan=plan: plan,  # type: ignore[misc]
            turns=count(),
            path=SEND,
            client_id=CLIENT_ID,
            reserved=PYTHON_PROPERTIES,
        )
        assert calls.serve([(CALL, 1, SEND, HEADERS, payload_of())], "here", REMOTE, NOW, DEADLINE) == (0, 0, [])
    closed = Forwarding(1)
    assert closed.lines[0].close() == []
    assert closed.serve(payload_of()) == (0, 0, [])


@pytest.mark.parametrize(
    "plan",
    [1, (1,), (7, (b"",) * 5, ()), (7, ("",) * 6, ()), (7, send_texts(TOPIC), ((object(), 1, False),)), (7, (), (1,))],
)
def test_plans_have_their_form(plan: Any) -> None:
    calls = kernel.CallForwards(
        plan=lambda _: plan, turns=count(), path=SEND, client_id=CLIENT_ID, reserved=PYTHON_PROPERTIES
    )
    with pytest.raises(TypeError):
        calls.serve([(CALL, 1, SEND, HEADERS, payload_of())], "here", REMOTE, NOW, DEADLINE)


def test_a_plan_is_made_again_when_it_is_forgotten() -> None:
    forwarding = Forwarding(1)
    forwarding.serve(payload_of())
    forwarding.calls.forget()
    forwarding.serve(payload_of())
    assert forwarding.requests == [TOPIC, TOPIC]


def response(payload: bytes) -> Any:
    return service_pb2.SendMessageResponse.FromString(payload)


def waiting(number: int, **system: Any) -> tuple[Any, list[int]]:
    """A connection with so many sends that wait, and their opaques."""
    forwarding = Forwarding(1)
    calls = [payload_of(message_id=f"id{each}", **system) for each in range(number)]
    frames = forwarding.frames(*calls)[0] if calls else []
    return forwarding.lines[0], [decode_frame(each).header.opaque for each in frames]


names = st.sampled_from(["msgId", "queueId", "queueOffset", "recallHandle", "transactionId", "TRACE_ON"])
values = st.sampled_from(["", "0", "5", "-1", "05", "9223372036854775807", "99999999999999999999", 'q"', "é", "7F00"])


@given(
    st.dictionaries(names, values, max_size=6),
    st.booleans(),
    st.sampled_from([0, 0, 0, 1, 10]),
    st.sampled_from([None, None, "remark", 'a "remark"']),
    st.integers(0, 1),
)
def test_an_answer_is_the_one_that_python_makes(
    extra: dict[str, str], plain: bool, code: int, remark: str | None, serialize_type: int
) -> None:
    line, (opaque,) = waiting(1)
    fields = {"msgId": "7F", "queueId": "1", "queueOffset": "4", **extra} if plain else extra
    header = Header(code=code, opaque=opaque, flag=FLAG_RESPONSE, remark=remark, ext=fields or None)
    data = encode_frame(header, b"", serialize_type)
    answers, left, size, taken = line.take(data)
    if plain and not extra and code == 0 and remark != 'a "remark"':
        assert counted(taken) == 1
    if not taken:
        assert (answers, left, size) == ({}, [(0, len(data))], 0)
        assert line.pop(opaque)[:4] == ("here", 1, "id0", 516)
        return
    assert (left, size, line.deadline) == ([], 516, None)
    ((stream, payload),) = answers["here"]
    assert stream == 1
    found = decode_header(memoryview(data)[8:], serialize_type)
    reply = reply_of(RequestCode.SEND_MESSAGE_V2, Response(0, remark, found.ext or {}, b""))
    assert payload == send_response(("id0",), reply).SerializeToString()


def counted(taken: list[tuple[float, int]]) -> int:
    """How many sends a read has answered."""
    return sum(times for _, times in taken)


def test_what_is_no_answer_to_a_send_stays_in_its_place() -> None:
    line, opaques = waiting(4)
    others = [
        answer(5),
        stored(opaques[-1] + 1),
        encode_frame(Header(code=0, opaque=opaques[0], ext={"msgId": "", "queueId": "0", "queueOffset": "0"})),
        answer(opaques[1], 1, "refused"),
        encode_frame(Header(code=0, opaque=3, flag=FLAG_RESPONSE), b"body" * 50),
    ]
    frames = [*others[:2], stored(opaques[2], 9), others[2], stored(opaques[0]), *others[3:], stored(opaques[3])]
    data = b"".join(frames)
    answers, left, size, taken = line.take(data + frames[0][:7])
    assert (counted(taken), size) == (3, 3 * 516)
    assert [(stream, response(payload).entries[0].offset) for stream, payload in answers["here"]] == [
        (5, 9),
        (1, 4),
        (7, 4),
    ]
    assert [data[start:end] for start, end in left[:-1]] == [
        b"".join(others[:2]),
        others[2],
        b"".join(others[3:]),
    ]
    assert left[-1] == (len(data), len(data) + 7)
    assert line.pop(opaques[1])[:4] == ("here", 3, "id1", 516)
    assert line.pop(opaques[1]) is None
    assert line.deadline is None


@pytest.mark.parametrize("opaque", [0, -1, 5, FORWARDED - 1, FORWARDED + 1, 2**31 - 1, 2**31, 2**64, -(2**64)])
def test_nothing_waits_with_another_opaque(opaque: int) -> None:
    line, _ = waiting(1)
    assert line.pop(opaque) is None


def test_an_answer_comes_once() -> None:
    line, (opaque,) = waiting(1)
    again = stored(opaque)
    assert counted(line.take(again)[3]) == 1
    assert line.take(again) == ({}, [(0, len(again))], 0, [])


def test_answers_have_the_deadlines_of_their_sends() -> None:
    forwarding = Forwarding(1)
    line = forwarding.lines[0]
    for deadline in (1.5, 1.5, 3.0, 4.0, 4.0):
        forwarding.serve(payload_of(), deadline=deadline)
    first, *others = [stored(FORWARDED + number) for number in range(5)]
    assert line.take(b"".join(others))[3] == [(1.5, 1), (3.0, 1), (4.0, 2)]
    assert line.take(first)[3] == [(1.5, 1)]


def test_sends_expire_in_their_order() -> None:
    forwarding = Forwarding(1)
    line = forwarding.lines[0]
    for number in range(40):
        forwarding.serve(payload_of(message_id=f"id{number}"), deadline=float(number))
    assert line.deadline == 0
    for number in (1, 3, 39):
        assert line.pop(FORWARDED + number) is not None
    assert [each[2] for each in line.expire(4.5)] == ["id0", "id2", "id4"]
    assert line.deadline == 5
    assert len(line.close()) == 34
    assert line.deadline is None


@given(st.lists(st.integers(0, 9), max_size=60), st.randoms(use_true_random=False))
def test_any_order_of_answers(sizes: list[int], random: Any) -> None:
    forwarding = Forwarding(1)
    opaques: list[int] = []
    expected: dict[int, str] = {}
    line = forwarding.lines[0]
    for number, size in enumerate(sizes):
        calls = [payload_of(message_id=f"{number}.{each}") for each in range(size)]
        if calls:
            opaques += [decode_frame(each).header.opaque for each in forwarding.frames(*calls)[0]]
            expected.update(zip(opaques[-size:], [f"{number}.{each}" for each in range(size)], strict=True))
        random.shuffle(opaques)
        answered, opaques = opaques[: len(opaques) // 2], opaques[len(opaques) // 2 :]
        answers, left, _, taken = line.take(b"".join(map(stored, answered)))
        assert (left, counted(taken)) == ([], len(answered))
        found = [response(payload).entries[0].message_id for _, payload in answers.get("here", [])]
        assert found == [expected.pop(opaque) for opaque in answered]
    assert sorted(each[2] for each in line.close()) == sorted(expected.values())


@given(st.binary(max_size=80), st.integers(0, 300), st.integers(0, 255))
def test_any_bytes_of_a_broker(noise: bytes, place: int, value: int) -> None:
    line, opaques = waiting(2)
    data = bytearray(stored(opaques[0]) + noise + stored(opaques[1]))
    data[place % len(data)] = value
    _, left, _, taken = line.take(bytes(data))
    for start, end in left:
        FrameReader().receive(memoryview(bytes(data))[start:end])
    assert counted(taken) + len(line.close()) == 2


def test_more_than_can_wait_are_for_python() -> None:
    forwarding = Forwarding(1)
    calls = [payload_of()] * 4096
    while (served := forwarding.serve(*calls)[0]) == len(calls):
        pass
    assert served == 0
    assert len(forwarding.lines[0].close()) == 1 << 16
