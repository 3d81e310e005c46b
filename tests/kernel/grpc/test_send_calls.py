"""SendMessage calls as a proxy forwards them: the kernel reads them as wire.grpc.sending does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.wire.facts.properties import RESERVED_NAMES
from rocketwire.wire.frame import decode_frame
from rocketwire.wire.grpc import definition_pb2, service_pb2
from rocketwire.wire.grpc.checks import CallLimits
from rocketwire.wire.grpc.queue_choice import queue_of_group
from tests.kernel.fuzz.calls import NOW, QUEUES, send_twin
from tests.kernel.fuzz.forwards import call_forwards, forwards, serve

letters = st.text("abcXYZ|_ \x00\x1f\x7f\x85\xa0é漢\u3000\u2028😀", max_size=6)
texts = letters | st.text(max_size=10) | st.sampled_from(["TAGS", "key", "a longer text of some words", "x" * 200])
names = st.sampled_from(["a", "b", "colour", "Aa", "BB", "AaAa", "BBBB", "AaBB", "", *sorted(RESERVED_NAMES)]) | texts
user_names = st.sampled_from([f"name{number}" for number in range(40)] + ["Aa", "BB", "AaAa", "BBBB"]) | names
times = st.fixed_dictionaries(
    {},
    optional={
        "seconds": st.integers(NOW // 1000 - 5, NOW // 1000 + 90_000) | st.integers(-(2**63), 2**63 - 1),
        "nanos": st.integers(0, 999_999_999) | st.integers(-(2**31), 2**31 - 1),
    },
)
numbers = st.integers(-(2**31), 2**31 - 1)
systems = st.fixed_dictionaries(
    {"message_id": st.sampled_from(["01AB", "id"]) | texts},
    optional={
        "tag": texts,
        "keys": st.lists(texts, max_size=10),
        "body_digest": st.builds(dict, checksum=texts),
        "body_encoding": st.integers(0, 3),
        "message_type": st.integers(0, 6),
        "born_timestamp": times,
        "born_host": texts,
        "store_timestamp": times,
        "delivery_timestamp": times,
        "queue_id": numbers,
        "queue_offset": numbers,
        "delivery_attempt": numbers,
        "message_group": texts,
        "trace_context": texts,
        "lite_topic": texts,
        "priority": numbers,
    },
)
plain_text = st.text("abcXYZ019_.é漢😀", min_size=1, max_size=12)
plain_systems = st.fixed_dictionaries(
    {"message_id": plain_text},
    optional={
        "tag": plain_text.map(lambda text: text.replace("|", "-")),
        "keys": st.lists(plain_text, max_size=4),
        "body_encoding": st.integers(0, 2),
        "message_type": st.integers(0, 3),
        "born_timestamp": st.builds(dict, seconds=st.integers(0, 2**33), nanos=st.integers(0, 999_999_999)),
        "born_host": plain_text,
        "delivery_timestamp": st.builds(dict, seconds=st.integers(0, NOW // 1000)),
        "message_group": plain_text,
        "trace_context": plain_text,
    },
)
users = st.dictionaries(user_names, texts, max_size=30)
plain_users = st.dictionaries(
    st.integers(0, 99).map("name{}".format) | st.sampled_from(["Aa", "BB", "AaAa", "BBBB", "AaBB"]),
    plain_text,
    max_size=24,
)


def request(user: dict[str, str], system: dict[str, Any], body: bytes = b"body", topic: str = "orders") -> Any:
    message = definition_pb2.Message(body=body)
    message.topic.name = topic
    message.user_properties.update(user)
    message.system_properties.CopyFrom(definition_pb2.SystemProperties(**system))
    return service_pb2.SendMessageRequest(messages=[message])


@given(users, systems, st.binary(max_size=9))
@example({"quoted": 'a"b\\c', "é": "漢😀"}, {"message_id": 'i"d\\'}, b"b")
@example({}, {"message_id": "x" * 79}, b"b")
@example({}, {"message_id": "id", "tag": "é\u3000"}, b"b")
@example({}, {"message_id": "id", "message_group": "x" * 64}, b"b")
@example({}, {"message_id": "id", "message_group": "x" * 63}, b"b")
@example({}, {"message_id": "\xa0"}, b"b")
@example({"a": "\x80"}, {"message_id": "i"}, b"b")
@example({"a": "v" * (16 * 1024)}, {"message_id": "i"}, b"b")
@example({}, {"message_id": "i", "delivery_timestamp": {"seconds": NOW // 1000 + 86_400}}, b"b")
@example({}, {"message_id": "i", "delivery_timestamp": {"seconds": NOW // 1000 + 86_401}}, b"b")
def test_a_frame_is_the_one_that_python_writes(user: dict[str, str], system: dict[str, Any], body: bytes) -> None:
    try:
        payload = request(user, system, body).SerializeToString()
    except (UnicodeEncodeError, ValueError):
        return
    call_forwards(payload)


@given(plain_users, plain_systems)
def test_plain_sends_are_taken(user: dict[str, str], system: dict[str, Any]) -> None:
    payload = request(user, system).SerializeToString()
    fits = send_twin(payload) is not None and len(system["message_id"].encode()) <= 79
    assert call_forwards(payload) or not fits


@given(plain_users, plain_systems, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3), st.data())
def test_damaged_sends_are_read_as_by_python_or_for_python(
    user: Any, system: Any, changes: list[tuple[int, int]], data: st.DataObject
) -> None:
    payload = bytearray(request(user, system).SerializeToString())
    for place, value in changes:
        payload[place % len(payload)] = value
    cut = data.draw(st.integers(0, len(payload))) if data.draw(st.booleans()) else len(payload)
    call_forwards(bytes(payload[:cut]))


@given(st.binary(max_size=60))
@example(b"\x0a\x00\x0a\x00")
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
def test_any_bytes_are_read_as_by_python_or_for_python(payload: bytes) -> None:
    call_forwards(payload)


@pytest.mark.parametrize("limit", ["user_properties", "property_bytes", "message_group_bytes", "delay_ms"])
def test_without_a_limit_more_is_taken(limit: str) -> None:
    system: dict[str, Any] = {"message_id": "i", "message_group": "group", "tag": "tag"}
    delivery = {} if limit == "message_group_bytes" else {"delivery_timestamp": {"seconds": NOW // 1000 + 9}}
    payload = request({"a": "b"}, {**system, **delivery}).SerializeToString()
    for most, taken in ((1, limit == "user_properties"), (0, True)):
        limits = CallLimits(**{limit: most})
        calls = forwards((kernel.ConnectionSends(owner="broker"), QUEUES, False))
        for name in ("user_properties", "property_bytes", "message_group_bytes", "delay_ms"):
            setattr(calls, name, getattr(limits, name))
        assert (serve(calls, payload)[0] == 1) is taken
        assert (send_twin(payload, limits) is not None) is taken


@given(st.text(max_size=12).filter(lambda text: text.isprintable()), st.integers(1, 300))
def test_a_group_has_the_queue_that_python_gives_it(group: str, queues: int) -> None:
    if not group or group.isspace():
        return
    payload = request({}, {"message_id": "i", "message_group": group}).SerializeToString()
    served, _, written = serve(forwards((kernel.ConnectionSends(owner="broker"), queues, False)), payload)
    if served:
        ((_, frame),) = written
        assert (decode_frame(frame).header.ext or {})["e"] == str(queue_of_group(group, queues))
