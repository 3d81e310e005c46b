import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.grpc.authorization import authorization, parse_authorization
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.signature import SecretKey

_TIME = "20260102T030405Z"
_DIGEST = hmac.new(b"secret", _TIME.encode(), hashlib.sha1).hexdigest()
_key = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=",/"), max_size=20).map(str.strip)


@given(_key, st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_round_trip(access_key: str, key: str, date_time: str) -> None:
    found = parse_authorization(authorization(access_key, SecretKey(key), date_time))
    assert found.access_key == access_key
    assert found.signed(SecretKey(key), date_time)
    assert not found.signed(SecretKey(key + "x"), date_time)
    assert not found.signed(SecretKey(key), date_time + "x")


@pytest.mark.parametrize("digits", [_DIGEST, _DIGEST.upper()])
@pytest.mark.parametrize("credential", ["AK", "AK/", "AK/region/service"])
def test_the_header_of_an_sdk(digits: str, credential: str) -> None:
    text = f"MQv2-HMAC-SHA1 Credential={credential}, SignedHeaders=x-mq-date-time, Signature={digits}"
    found = parse_authorization(text)
    assert found.access_key == "AK"
    assert found.signed(SecretKey("secret"), _TIME)
    assert authorization("AK", SecretKey("secret"), _TIME).partition("Signature=")[2] == _DIGEST.upper()


@pytest.mark.parametrize("digits", ["", "00", "g" * 40, _DIGEST[:-1], _DIGEST + "00", " " * 40])
def test_another_text_is_no_signature(digits: str) -> None:
    found = parse_authorization(f"MQv2-HMAC-SHA1 Credential=AK, Signature={digits}")
    assert not found.signed(SecretKey("secret"), _TIME)


def test_a_client_without_an_account_has_no_access_key() -> None:
    assert parse_authorization(f"MQv2-HMAC-SHA1 Credential=, Signature={_DIGEST}").access_key == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MQv2-HMAC-SHA1",
        "Bearer Credential=AK, Signature=00",
        "MQv2-HMAC-SHA1 Credential=AK",
        "MQv2-HMAC-SHA1 Signature=00",
        "MQv2-HMAC-SHA1 Credential=AK, Signature",
        "MQv2-HMAC-SHA1 Credential=AK, Credential=other, Signature=00",
    ],
)
def test_what_is_no_authorization(text: str) -> None:
    with pytest.raises(CallInvalid) as raised:
        parse_authorization(text)
    assert raised.value.code is Code.UNAUTHORIZED
