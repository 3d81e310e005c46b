import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.receipt import RETRY_TOPIC_V1, ReceiptHandle, parse_receipt_handle
from tests.wire import golden

_long = st.integers(0, 2**63 - 1)
_int = st.integers(0, 2**31 - 1)
_broker = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" "), min_size=1, max_size=20)

#: What Apache's decoder takes besides: a part too much, a negative number, an unknown kind, no broker.
_REFUSED = {"1 2 3 4 0 b 5 6 7 8", "-1 2 3 4 0 b 5 6", "1 2 3 4 7 b 5 6", "1 2 3 4 0  5 6"}


@given(
    st.builds(
        ReceiptHandle, _long, _long, _long, _int, st.sampled_from("012"), _broker, _int, _long, _long | st.just(-1)
    )
)
def test_round_trip(handle: ReceiptHandle) -> None:
    assert parse_receipt_handle(str(handle)) == handle


@pytest.mark.parametrize(("text", "again", "visible_at"), golden.grpc_cases("handles"))
def test_handles_are_apaches(text: str, again: str | None, visible_at: int) -> None:
    if again is None or text in _REFUSED:
        with pytest.raises(CallInvalid) as raised:
            parse_receipt_handle(text)
        assert raised.value.code is Code.INVALID_RECEIPT_HANDLE
        return
    handle = parse_receipt_handle(text)
    assert str(handle) == text
    assert again in (text, f"{text} -1")
    assert handle.visible_at == visible_at


def test_the_parts() -> None:
    handle = parse_receipt_handle("70 1000 60000 2 1 broker-a 3 77 4711")
    assert handle == ReceiptHandle(70, 1_000, 60_000, 2, RETRY_TOPIC_V1, "broker-a", 3, 77, 4_711)
    assert handle.visible_at == 61_000


def test_nothing_long_is_kept_of_what_is_no_handle() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(100):
            with pytest.raises(CallInvalid):
                parse_receipt_handle(f"1 2 3 4 0 {number}{'b' * 100_000} 5 6 7")
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()
    longest = ReceiptHandle(2**63 - 1, 2**63 - 1, 2**63 - 1, 2**31 - 1, "2", "b" * 255, 2**31 - 1, 2**63 - 1, 2**63 - 1)
    assert parse_receipt_handle(str(longest)) == longest
