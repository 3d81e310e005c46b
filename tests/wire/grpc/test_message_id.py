import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import MessageIdInvalid
from rocketwire.wire.grpc.message_id import CLIENT_MESSAGE_ID, EPOCH_MS, ClientMessageId


@given(
    st.binary(min_size=6, max_size=6), st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)
)
def test_round_trip_and_equal_to_the_declaration(mac: bytes, process_id: int, seconds: int, counter: int) -> None:
    text = str(ClientMessageId(mac, process_id, seconds, counter))
    assert len(text) == 34
    assert ClientMessageId.parse(text) == ClientMessageId.parse(text.lower()) == (mac, process_id, seconds, counter)
    declared = CLIENT_MESSAGE_ID.parse(bytes.fromhex(text))
    assert (declared.mac, declared.process_id, declared.seconds, declared.counter) == (
        mac,
        process_id,
        seconds,
        counter,
    )


def test_an_id_of_the_java_client() -> None:
    made = ClientMessageId.parse("010A5B6C7D8E9F04D206A1B2C300000005")
    assert made == (bytes.fromhex("0A5B6C7D8E9F"), 1234, 0x06A1B2C3, 5)
    assert EPOCH_MS + made.seconds * 1_000 == 1_720_719_555_000


@pytest.mark.parametrize("text", ["", "01", "0" * 34, "01" + "g" * 32, "01" * 16, "01 " * 16 + "01", "01" * 18])
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(MessageIdInvalid):
        ClientMessageId.parse(text)


@pytest.mark.parametrize("made", [ClientMessageId(b"12345", 0, 0, 0), ClientMessageId(b"123456", 2**16, 0, 0)])
def test_parts_that_do_not_fit(made: ClientMessageId) -> None:
    with pytest.raises(MessageIdInvalid):
        str(made)
