"""The signature of a request: HMAC-SHA1 in base64.

It covers the values of the header's fields in the order of their names, then the body. The names are sorted as Java
sorts texts (by UTF-16 units), the values are UTF-8.
"""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from collections.abc import Mapping
from hmac import compare_digest
from typing import Final

ACCESS_KEY: Final = "AccessKey"
SIGNATURE: Final = "Signature"
SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 - a field of SessionCredentials
ACCOUNT_FIELDS: Final = frozenset({ACCESS_KEY, SIGNATURE, SECURITY_TOKEN})
"""The fields of a request that name the account which signed it, and prove it."""
UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"
"""A field that a 4.9.7 client signs and a 4.9.7 server leaves out; 5.x's clients differ by their version."""

_BLOCK: Final = 64  # bytes of SHA-1's block
_INNER: Final = bytes(each ^ 0x36 for each in range(256))
_OUTER: Final = bytes(each ^ 0x5C for each in range(256))


class SecretKey:
    """A secret key, ready to sign. Neither its text nor its representation shows it."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: str) -> None:
        data = key.encode("utf-8", "replace")
        if len(data) > _BLOCK:
            data = hashlib.sha1(data, usedforsecurity=False).digest()
        data = data.ljust(_BLOCK, b"\0")
        # The hashes of the padded key are made once: a request costs two copies of them instead.
        self._inner = hashlib.sha1(data.translate(_INNER), usedforsecurity=False)
        self._outer = hashlib.sha1(data.translate(_OUTER), usedforsecurity=False)

    def sign(self, text: bytes, body: bytes | memoryview = b"") -> bytes:
        """The signature of a text and a body: 28 characters."""
        inner = self._inner.copy()
        inner.update(text)
        if body:
            inner.update(body)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return b2a_base64(outer.digest(), newline=False)

    def verify(self, ext: Mapping[str, str], body: bytes | memoryview) -> bool:
        """Whether a signature is that of a request's fields and body."""
        found = ext.get(SIGNATURE, "").encode("utf-8", "replace")
        if UNIQUE_KEY_QUERY not in ext:
            return compare_digest(self.sign(signed_content(ext), body), found)
        with_it = compare_digest(self.sign(signed_content(ext), body), found)
        others = {name: value for name, value in ext.items() if name != UNIQUE_KEY_QUERY}
        return compare_digest(self.sign(signed_content(others), body), found) or with_it


def signed_content(ext: Mapping[str, str]) -> bytes:
    """The signed text of a request's header."""
    names = tuple(ext)
    signed = _orders.get(names)
    if signed is None:
        signed = _signed_names(names)
    return "".join([ext[name] for name in signed]).encode("utf-8", "replace")


# Similar requests have the same names. Clients without access may send any: few are cached, and no long ones.
_orders: dict[tuple[str, ...], tuple[str, ...]] = {}
_ORDERS_KEPT: Final = 256
_NAMES_KEPT: Final = 1024  # characters of all names of a request


def _signed_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names whose values are signed, in their order."""
    signed = tuple(sorted((name for name in names if name != SIGNATURE), key=_utf16))
    if sum(map(len, names)) + len(names) <= _NAMES_KEPT:
        if len(_orders) >= _ORDERS_KEPT:
            _orders.clear()
        _orders[names] = signed
    return signed


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
