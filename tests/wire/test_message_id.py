from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.errors import MessageIdInvalid
from rocketwire.wire.message_id import UNIQUE_KEY, UniqueKey, offset_message_id, parse_offset_message_id

stored_hosts = st.binary(min_size=8, max_size=8) | st.binary(min_size=20, max_size=20)
unique_keys = st.builds(
    UniqueKey,
    ip=st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16),
    process_id=st.integers(0, 2**16 - 1),
    loader_hash=st.integers(0, 2**32 - 1),
    elapsed=st.integers(0, 2**32 - 1),
    counter=st.integers(0, 2**16 - 1),
)
KEY = UniqueKey(ip=b"\xc0\0\2\2", process_id=0x7B59, loader_hash=0x4E0E2F2A, elapsed=0x68F07305, counter=0)


@given(stored_hosts, st.integers(-(2**63), 2**63 - 1))
def test_offset_message_id_round_trip(host: bytes, offset: int) -> None:
    text = offset_message_id(host, offset)
    assert text == text.upper()
    assert len(text) in {32, 56}
    assert parse_offset_message_id(text) == (host, offset)
    assert parse_offset_message_id(text.lower()) == (host, offset)


@given(unique_keys)
def test_unique_key_round_trip_and_equal_to_the_declaration(key: UniqueKey) -> None:
    text = str(key)
    assert UniqueKey.parse(text) == key
    declared = UNIQUE_KEY.parse(bytes.fromhex(text), ip_size=len(key.ip))
    assert (declared.ip, declared.process_id, declared.loader_hash, declared.elapsed, declared.counter) == (
        key.ip,
        key.process_id,
        key.loader_hash,
        key.elapsed,
        key.counter,
    )


def test_unique_key_of_a_real_client() -> None:
    assert str(KEY) == "C00002027B594E0E2F2A68F073050000"
    assert UniqueKey.parse(str(KEY)) == KEY
    assert UNIQUE_KEY.parse(bytes.fromhex(str(KEY))).process_id == KEY.process_id


@pytest.mark.parametrize("text", ["", "00", "0" * 31, "0" * 33, "0" * 34, "0" * 31 + "g", "00 " * 16, "0" * 58])
def test_what_is_no_id(text: str) -> None:
    for parse in (parse_offset_message_id, UniqueKey.parse):
        with pytest.raises(MessageIdInvalid) as caught:
            parse(text)
        assert caught.value.text == text


def test_what_cannot_be_an_offset_message_id() -> None:
    with pytest.raises(MessageIdInvalid, match="8 or 20 bytes, not 4"):
        offset_message_id(bytes(4), 0)
    with pytest.raises(MessageIdInvalid, match="no 64-bit number"):
        offset_message_id(bytes(8), 1 << 63)


@pytest.mark.parametrize("parts", [{"ip": bytes(5)}, {"process_id": 1 << 16}, {"counter": -1}])
def test_what_cannot_be_a_unique_key(parts: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"ip": bytes(4), "process_id": 0, "loader_hash": 0, "elapsed": 0, "counter": 0}
    with pytest.raises(MessageIdInvalid):
        str(UniqueKey(**(fields | parts)))
