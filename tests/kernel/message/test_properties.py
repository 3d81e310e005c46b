"""Property texts and batches that sends bring are stored, or left to Python, as wire.stored_properties has them."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.facts import properties as names
from rocketwire.wire.header import Header, encode_header
from rocketwire.wire.stored_properties import STEERING_NAMES
from tests.kernel.fuzz import sends as of_sends
from tests.server.harness import send_ext

KNOWN = [names.UNIQ_KEY, names.KEYS, names.TAGS, names.WAIT, names.CLUSTER, *sorted(STEERING_NAMES)]
#: Every name of the protocol: none of them but STEERING_NAMES may steer.
ALL_NAMES = sorted({value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)})
NEAR = ["", "TAG", "TAGSS", "tags", "UNIQ_KEZ", "KEYS ", "WAITS", "DELAZ", "CLUSTEŔ", "a", "é", "TAGS\0"]
TIMES = {names.TIMER_DELAY_SEC, names.TIMER_DELAY_MS}
"""The value 3 under one of these names is a time that the kernel can plan for."""

plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), max_size=20)
values = st.sampled_from(["true", "false", "TRUE", "tRuE", "t", "", "\0", "TagA", "0123456789ABCDEF" * 2]) | plain
items = st.builds(
    lambda name, sep, value: name + sep + value,
    st.sampled_from(KNOWN) | st.sampled_from(NEAR) | plain,
    st.sampled_from(["\x01", "\x01", "\x01", "", "\x01\x01"]),
    values,
)
texts = st.lists(items, max_size=8).map("\x02".join) | st.text(
    st.sampled_from("\0\x01\x02\x03TAGSWIé漢😀"), max_size=40
)
int32 = st.integers(-(2**31), 2**31 - 1)
messages = st.builds(BatchItem, int32, st.binary(max_size=40), texts.map(str.encode))
batches = st.lists(messages, min_size=1, max_size=5).map(encode_batch)
edges = st.sampled_from([-(2**31), -1, 0, 1, 19, 20, 21, 22, 23, 0x7FFF, 0x8000, 2**31 - 1])


def takes(text: str, body: bytes = b"body", code: int = 310) -> bool:
    """Whether the kernel stores such a send; if so, as Python would."""
    ext = send_ext("T", queue_id=3, properties=text, batch=code == 320)
    header = encode_header(Header(code=code, opaque=1, version=407, ext=ext), 0)
    return of_sends.sends(b"\0" + header + of_sends.BODY + body).taken


def takes_batch(body: bytes) -> bool:
    return takes("a\x01b", body, 320)


@given(texts)
@example("")
@example("\x02")
@example("TAGS\x01a\x02TAGS\x01b\x02TAGS\x01")
@example("CLUSTER\x01mine\x02a\x01b")
@example("WAIT\x01\0\x02a\x01b\x02")
@example("DELAY\x01\x02KEYS\x01a b")
def test_a_text_is_stored_as_python_stores_it(text: str) -> None:
    takes(text)
    takes_batch(encode_batch([BatchItem(0, b"", text.encode())]))


@pytest.mark.parametrize("name", ALL_NAMES)
@pytest.mark.parametrize("spelling", ["{}", "{}x", "x{}"])
def test_the_names_that_steer_are_those_of_python(name: str, spelling: str) -> None:
    spelt = spelling.format(name)
    steers = spelt in STEERING_NAMES
    assert takes(f"{spelt}\x013") is (not steers or spelt in TIMES)
    # A text that the kernel would store as it is: Python takes POP_CK out.
    batch = encode_batch([BatchItem(0, b"body", f"{spelt}\x013".encode())])
    assert takes_batch(batch) is not (steers or spelt == names.POP_CK)


def test_every_name_that_steers_is_a_name_of_the_protocol() -> None:
    assert set(ALL_NAMES) >= STEERING_NAMES


@given(batches, st.integers(0, 200), st.binary(max_size=4))
def test_a_damaged_batch_is_for_python(body: bytes, at: int, other: bytes) -> None:
    takes_batch(body)
    takes_batch(body[:at] + other + body[at + len(other) :])
    takes_batch(body[:at])


@given(edges | int32, edges | int32, st.integers(0, 0xFFFF), st.binary(max_size=60))
@example(22, 0, 0, b"")
@example(2**31 - 1, 2**31 - 23, 0, b"")
@example(22 + 0x1FFF, 0, 0x1FFF, b"a" * 0x1FFF)
def test_lengths_in_a_batch_may_be_anything(total: int, body_length: int, properties: int, rest: bytes) -> None:
    takes_batch(struct.pack(">iiiiiH", total, 0, 0, 7, body_length, properties) + rest)


@given(st.binary(max_size=12), messages)
def test_properties_that_are_no_utf_8_are_for_python(text: bytes, other: BatchItem) -> None:
    takes_batch(encode_batch([other, BatchItem(0, b"body", text), other]))


def test_a_plain_batch_is_taken() -> None:
    plain_batch = [BatchItem(number, b"body", b"KEYS\x01k") for number in range(3)]
    assert takes_batch(encode_batch(plain_batch))
    assert not takes_batch(encode_batch(plain_batch) + b"\0")
    assert not takes_batch(encode_batch([*plain_batch, BatchItem(0, b"", b"\xff")]))
