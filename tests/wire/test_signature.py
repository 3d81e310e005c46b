"""The signature against the check value that Apache's client gave, and against a straight implementation."""

from __future__ import annotations

import base64
import hmac

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.wire import signature
from rocketwire.wire.facts.codes import SerializeType
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.signature import SIGNATURE, UNIQUE_KEY_QUERY, SecretKey, signed_content

CHECKED = {"AccessKey": "AK", "beginTimestamp": "0", "endTimestamp": "9", "key": "K", "maxNum": "1", "topic": "T"}
names = st.text(max_size=8)
texts = st.dictionaries(names, st.text(max_size=12), max_size=8)


def straight(secret: str, ext: dict[str, str], body: bytes) -> bytes:
    ordered = sorted(ext, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    data = b"".join(ext[name].encode("utf-8", "replace") for name in ordered if name != SIGNATURE) + body
    return base64.b64encode(hmac.new(secret.encode(), data, "sha1").digest())


def test_the_check_value_of_apaches_client() -> None:
    secret = SecretKey("SK12345678")
    assert signed_content(CHECKED) == b"AK09K1T"
    assert secret.sign(signed_content(CHECKED), b"B") == b"lfXfFxgpslO9s5zBX0o7LrZDmOA="
    assert secret.verify({**CHECKED, SIGNATURE: "lfXfFxgpslO9s5zBX0o7LrZDmOA="}, b"B")
    assert not secret.verify({**CHECKED, SIGNATURE: "lfXfFxgpslO9s5zBX0o7LrZDmOA="}, b"b")


@given(st.text(max_size=100), texts, st.binary(max_size=300))
@example("longer than a block of the hash " * 3, {}, b"")
def test_any_request_is_signed_as_a_straight_implementation_signs_it(
    key: str, ext: dict[str, str], body: bytes
) -> None:
    expected = straight(key, ext, body)
    secret = SecretKey(key)
    assert secret.sign(signed_content(ext), body) == expected
    assert secret.verify({**ext, SIGNATURE: expected.decode()}, memoryview(body))
    assert not secret.verify({**ext, SIGNATURE: expected.decode()[:-1]}, memoryview(body))


@given(texts, st.binary(max_size=50), st.sampled_from([SerializeType.JSON, SerializeType.ROCKETMQ]))
def test_a_signature_outlives_both_serialisations(ext: dict[str, str], body: bytes, serialize_type: int) -> None:
    signed = {**ext, SIGNATURE: straight("secret-key", ext, body).decode()}
    header = decode_header(encode_header(Header(code=310, opaque=1, ext=signed), serialize_type), serialize_type)
    assert header.ext is not None
    assert SecretKey("secret-key").verify(header.ext, body)


def test_names_are_ordered_as_java_orders_texts() -> None:
    assert signed_content({"b": "4", "_": "3", "B": "2", "AB": "1"}) == b"1234"
    # U+FFFD stands after U+1F600 there: its first UTF-16 unit is less.
    assert signed_content({"\ufffd": "2", "\U0001f600": "1"}) == b"12"


def test_a_value_that_is_no_text_is_signed_as_java_writes_it() -> None:
    assert signed_content({"a": "x\ud800y"}) == b"x?y"


@pytest.mark.parametrize("client_signs_it", [True, False])
def test_the_field_that_clients_sign_and_servers_do_not(*, client_signs_it: bool) -> None:
    ext = {**CHECKED, UNIQUE_KEY_QUERY: "true"}
    signed = ext if client_signs_it else CHECKED
    secret = SecretKey("SK12345678")
    assert secret.verify({**ext, SIGNATURE: straight("SK12345678", signed, b"").decode()}, b"")
    assert not secret.verify({**ext, SIGNATURE: "AAAA"}, b"")


def test_a_secret_does_not_show_itself() -> None:
    secret = SecretKey("very-secret-key")
    assert "very" not in f"{secret} {secret!r} {[getattr(secret, name) for name in SecretKey.__slots__]}"


def test_orders_of_names_are_kept_for_few_and_short_ones_only() -> None:
    signature._orders.clear()
    signed_content({"x" * 2000: "1"})
    assert not signature._orders
    for number in range(600):
        signed_content({f"n{number}": "1"})
        assert len(signature._orders) <= 256
    assert signature._orders
