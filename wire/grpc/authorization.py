"""The signature of a call: `MQv2-HMAC-SHA1 Credential=KEY, SignedHeaders=x-mq-date-time, Signature=HEX`.

It signs the header `x-mq-date-time`, nothing else of the call.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from hmac import compare_digest
from typing import Final, NamedTuple

from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.signature import SecretKey

AUTHORIZATION: Final = "authorization"
"""The header with the signature."""
DATE_TIME: Final = "x-mq-date-time"
"""The header that is signed, for example `20260102T030405Z`."""
SCHEME: Final = "MQv2-HMAC-SHA1"

_CREDENTIAL: Final = "Credential"
_SIGNATURE: Final = "Signature"
_HEX_DIGITS: Final = 40  # of a SHA-1 digest


class Authorization(NamedTuple):
    """The signature of a call.

    Attributes:
        access_key: Empty where a client without an account sends the header nevertheless.
        signature: In the form of `wire.signature`, base64.
    """

    access_key: str
    signature: bytes

    def signed(self, secret: SecretKey, date_time: str) -> bool:
        """Whether the signature is that of a secret, in constant time."""
        return compare_digest(secret.sign(date_time.encode("utf-8", "replace")), self.signature)


def parse_authorization(text: str) -> Authorization:
    """Read the header.

    Raises:
        CallInvalid: it is of another form (`UNAUTHORIZED`).
    """
    scheme, _, rest = text.partition(" ")
    if scheme != SCHEME:
        raise CallInvalid(Code.UNAUTHORIZED, f"authorization is not of the scheme {SCHEME}")
    items: dict[str, str] = {}
    for item in rest.split(","):
        name, equals, value = item.strip().partition("=")
        if not equals or name in items:
            raise CallInvalid(Code.UNAUTHORIZED, "authorization is no list of names and values")
        items[name] = value
    if _CREDENTIAL not in items or _SIGNATURE not in items:
        raise CallInvalid(Code.UNAUTHORIZED, f"authorization needs {_CREDENTIAL} and {_SIGNATURE}")
    access_key, _, _ = items[_CREDENTIAL].partition("/")  # region and service follow
    return Authorization(access_key, _base64(items[_SIGNATURE]))


def authorization(access_key: str, secret: SecretKey, date_time: str) -> str:
    """The header that signs a time, as clients write it."""
    signature = a2b_base64(secret.sign(date_time.encode())).hex().upper()
    return f"{SCHEME} {_CREDENTIAL}={access_key}, SignedHeaders={DATE_TIME}, {_SIGNATURE}={signature}"


def _base64(digits: str) -> bytes:
    try:
        data = bytes.fromhex(digits) if len(digits) == _HEX_DIGITS else b""
    except ValueError:
        data = b""
    return b2a_base64(data, newline=False)
