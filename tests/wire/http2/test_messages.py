import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.http2.messages import CallRefused, MessageReader, add_prefix, encode_status_text


@given(st.lists(st.binary(max_size=50), max_size=6), st.integers(1, 60))
def test_messages_come_out_whole_however_they_are_cut(messages: list[bytes], piece: int) -> None:
    data = b"".join(map(add_prefix, messages))
    reader = MessageReader(50)
    found = []
    for at in range(0, len(data), piece):
        reader.add(data[at : at + piece])
        while reader.has_message:
            found.append(reader.take_message())
            reader.read_prefix()
    reader.check_end()
    assert (found, reader.held, reader.size) == (messages, 0, 0)


@given(st.binary(max_size=50))
def test_a_request_with_one_message_ends_with_it(payload: bytes) -> None:
    reader = MessageReader(50)
    reader.add(add_prefix(payload))
    assert reader.take_only_message() == payload


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"", 13), (b"\0\0\0\0", 13), (b"\0\0\0\0\2x", 13), (b"\0\0\0\0\1xy", 13), (b"\0\0\0\0\0y", 13)],
)
def test_nothing_else_is_such_a_request(data: bytes, status: int) -> None:
    reader = MessageReader(50)
    reader.add(data)
    with pytest.raises(CallRefused) as raised:
        reader.take_only_message()
    assert raised.value.status == status


def test_what_is_compressed_or_too_long_is_refused_at_its_prefix() -> None:
    for data, status in ((b"\1\0\0\0\1", 12), (b"\0\0\0\0\x33", 8), (b"\2\0\0\0\0", 12)):
        with pytest.raises(CallRefused) as raised:
            MessageReader(50).add(data)
        assert raised.value.status == status


@given(st.text())
def test_the_text_of_a_status_is_plain_ascii(text: str) -> None:
    encoded = encode_status_text(text)
    assert all(0x20 <= ord(character) < 0x7F for character in encoded)
    parts = encoded.split("%")
    decoded = parts[0].encode() + b"".join(bytes.fromhex(part[:2]) + part[2:].encode() for part in parts[1:])
    assert decoded == text.encode("utf-8", "replace")


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert encode_status_text("a\ud800%") == "a?%25"
