"""Acknowledgements of several messages, against what 5.5.0's own classes write and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.bodies._codec import decode_body, encode_body
from rocketwire.wire.bodies.pop import (
    MAX_ACK_BITS,
    BatchAck,
    BatchAckMessageRequestBody,
    decode_batch,
    decode_bit_set,
    encode_bit_set,
)
from rocketwire.wire.errors import BodyInvalid

BODY_OF_APACHE = (
    b'{"acks":[{"b":"IQAAAAAAAIBA","c":"g","it":10000,"pt":1795251955395,"q":2,"r":"1","rq":3,"so":7,"t":"t"}],'
    b'"brokerName":"b"}'
)


@given(
    st.one_of(
        st.lists(st.integers(0, MAX_ACK_BITS - 1), unique=True).map(sorted),
        st.builds(lambda first, count: list(range(first, first + count)), st.integers(0, 100), st.integers(0, 40)),
    )
)
def test_sets_round_trip(numbers: list[int]) -> None:
    text = encode_bit_set(numbers)
    assert decode_bit_set(text) == numbers
    assert decode_bit_set(text.rstrip("=")) == numbers


def test_sets_of_numbers_in_any_order() -> None:
    assert (
        decode_bit_set(encode_bit_set([3, 1, 2]))
        == decode_bit_set(encode_bit_set(number for number in (1, 2, 3, 3)))
        == [1, 2, 3]
    )


def test_a_body_as_apache_writes_it() -> None:
    body = decode_body(BatchAckMessageRequestBody, BODY_OF_APACHE)
    assert encode_body(body) == BODY_OF_APACHE
    (ack,) = body.acks
    assert decode_bit_set(ack.bit_set) == [0, 5, 63, 70]
    assert ack == BatchAck(
        consumer_group="g", topic="t", retry="1", start_offset=7, queue_id=2, revive_queue_id=3,
        pop_time=1795251955395, invisible_time=10000, bit_set="IQAAAAAAAIBA",
    )  # fmt: skip


@pytest.mark.parametrize(("text", "numbers"), [("", []), ("IQ==", [0, 5]), ("IQ", [0, 5])])
def test_sets_that_apache_reads(text: str, numbers: list[int]) -> None:
    assert decode_bit_set(text) == numbers


@pytest.mark.parametrize("text", ["I", "é", encode_bit_set([MAX_ACK_BITS])])
def test_sets_that_are_none(text: str) -> None:
    with pytest.raises(BodyInvalid):
        decode_bit_set(text)


def test_more_than_can_be_parsed_in_a_moment_is_refused() -> None:
    body = encode_body(BatchAckMessageRequestBody(broker_name="b" * (4 << 20)))
    with pytest.raises(BodyInvalid, match="more than 4194304 bytes"):
        decode_batch(memoryview(body))
    assert decode_batch(memoryview(b'{"brokerName":"b"}')).broker_name == "b"
