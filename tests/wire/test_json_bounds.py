"""What a JSON text holds is counted rightly, whatever is in its strings and wherever it is cut into pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire import json_bounds
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.client import HeartbeatData, LockBatchRequestBody
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.bodies.online import GetConsumerStatusBody
from rocketwire.wire.errors import BodyInvalid, EntriesTooMany
from rocketwire.wire.json_bounds import MAX_JSON_DEPTH, MAX_JSON_ENTRIES, check_entry_count, check_json_size

TEXTS = st.text(st.sampled_from('a,{}[]"\\: \nä\x00')) | st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def entries(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(entries, value.values()))
    return len(value) + sum(map(entries, value)) if isinstance(value, list) else 0


@given(VALUES, st.integers(1, 20), st.booleans(), st.sampled_from([None, 1]))
def test_the_exact_number_of_entries_is_allowed(value: Any, piece: int, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    count = entries(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bounds, "_PIECE", piece)
        patch.setattr(json_bounds, "_LEAST_ENTRY", 0)
        for check in (check_json_size, lambda data, most: check_entry_count(data.encode(), most)):
            check(text, count)
            if count:
                with pytest.raises(EntriesTooMany, match=f"more entries than {count - 1}$"):
                    check(text, count - 1)


@given(VALUES)
def test_the_lenient_reader_counts_the_same(value: Any) -> None:
    text = json.dumps({"key": value}).replace('"key"', "key", 1)
    count = entries({"key": value})
    assert loads(text, most_entries=count) == {"key": value}
    with pytest.raises(EntriesTooMany):
        loads(text, most_entries=count - 1)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_so_deep_and_no_deeper(opening: str, closing: str) -> None:
    def nested(depth: int) -> str:
        return opening * depth + "1" + closing * depth

    for piece in (7, 1 << 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_bounds, "_PIECE", piece)
            check_json_size(nested(MAX_JSON_DEPTH), MAX_JSON_ENTRIES)
            check_json_size("[" + ",".join([nested(MAX_JSON_DEPTH - 1)] * 3) + "]", MAX_JSON_ENTRIES)
            with pytest.raises(BodyInvalid, match="nested too deep, 64 is the most"):
                check_json_size(nested(MAX_JSON_DEPTH + 1), MAX_JSON_ENTRIES)


def test_brackets_in_strings_nest_nothing() -> None:
    check_json_size('{"a":"' + "[{" * 1000 + '","b":"\\"' + "[" * 1000 + '"}', MAX_JSON_ENTRIES)


def test_what_is_short_is_not_counted() -> None:
    check_entry_count(b"," * 200, 100)
    with pytest.raises(EntriesTooMany):
        check_entry_count(b"," * 201, 100)


@pytest.mark.parametrize(
    "text",
    [
        '{"mqSet":[' + ",".join(["{}"] * 1_000_000) + "]}",
        '{"mqSet":[' + ",".join(["{}"] * MAX_JSON_ENTRIES) + "]}",
        "{" + ",".join(['"a":1'] * 200_000) + "}",
        "{'" + '"' * 3 + "':[" + ",".join(["1"] * 200_000) + "]}",  # quotes that are none in plain JSON
        "{a:[" + ",".join(["{}"] * 200_000) + "]}",
    ],
)
def test_a_body_of_too_many_entries_is_not_read(text: str) -> None:
    with pytest.raises(EntriesTooMany):
        decode_body(LockBatchRequestBody, text.encode())


def test_locks_of_the_widest_topic_are_read() -> None:
    queue = '{{"brokerName":"broker-a","queueId":{},"topic":"T"}}'
    text = '{"clientId":"c","consumerGroup":"g","mqSet":[' + ",".join(map(queue.format, range(16_384))) + "]}"
    assert len(decode_body(LockBatchRequestBody, text.encode()).mq_set) == 16_384


def test_commas_in_strings_are_no_entries() -> None:
    assert decode_body(HeartbeatData, ('{"clientID":"' + "," * 500_000 + '"}').encode()).client_id == "," * 500_000


def test_an_object_that_is_a_text_for_a_key_is_small() -> None:
    def table(key: str) -> bytes:
        return json.dumps({"messageQueueTable": {key: 5}}).encode()

    (queue,) = decode_body(GetConsumerStatusBody, table('{"topic":"T","queueId":3}')).message_queue_table
    assert (queue.topic, queue.queue_id) == ("T", 3)
    with pytest.raises(EntriesTooMany):
        decode_body(GetConsumerStatusBody, table('{"x":[' + "1," * 200 + "1]}"))
    with pytest.raises(BodyInvalid, match="no plain JSON"):
        decode_body(GetConsumerStatusBody, table("{x:'" + "a" * 5000 + "'}"))
