"""White lists: the syntax of addresses that need no signature, and the clients they match, as in 4.9.7.

    *                      all
    192.0.2.7              one; also several with commas between, and IPv6
    192.0.2.{7,8}          several
    192.0.2.*              a part that may be anything; what follows it is ignored
    192.0.2.10-20          a part from 10 to 20, both included
    2001:db8::7:*          the same for IPv6: the last part, or a range in the part before a last `*`; hexadecimal

IPv6 addresses are compared as eight groups of four digits. 4.9.7 reads some IPv6 ranges differently: see
docs/access-control.md.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

Matches = Callable[[str], bool]
"""Whether a client's address, in `normal` form, matches."""

_ALL: Final = frozenset({"*", "*.*.*.*", "*:*:*:*:*:*:*:*"})
_IPV4_PARTS: Final = 4
_IPV6_GROUPS: Final = 8
_GROUP_WIDTH: Final = 5  # four digits and a colon
_LARGEST_PART: Final = 255
_LARGEST_GROUP: Final = 0xFFFF


class WhiteListInvalid(Exception):
    """A text is not a white list entry; the message has the reason."""


def normal(address: str) -> str:
    """The canonical form of an address; other texts stay as they are. IPv4 within IPv6 is IPv4, as in Java."""
    try:
        return str(IPv4Address(address))
    except AddressValueError:
        pass
    try:
        found = IPv6Address(address.partition("%")[0])
    except AddressValueError:
        return address
    return found.exploded if found.ipv4_mapped is None else str(found.ipv4_mapped)


def white_list(text: str) -> Matches | None:
    """A function that matches the addresses of one entry; None: the entry is blank and matches no address.

    Raises:
        WhiteListInvalid: the entry is invalid.
    """
    if not text.strip():
        return None
    if text in _ALL:
        return lambda _: True
    if text.endswith("}"):
        return _any_of(_spelt_out(text))
    if "," in text:
        return _any_of([part for part in text.split(",") if part])
    if "*" in text or "-" in text:
        return _ipv6_range(text) if ":" in text else _ipv4_range(text)
    return _any_of([text])


def _any_of(addresses: list[str]) -> Matches:
    return frozenset(_valid(each) for each in addresses).__contains__


def _valid(address: str) -> str:
    try:
        return str(IPv4Address(address))
    except AddressValueError:
        pass
    try:
        return IPv6Address(address).exploded
    except AddressValueError as error:
        raise WhiteListInvalid(f"Netaddress examine Exception netaddress is {address}") from error


def _spelt_out(text: str) -> list[str]:
    """`a.b.c.{1,2}` -> the two addresses."""
    head, _, last = text.partition("{")
    separator = ":" if ":" in text else "."
    if not head.endswith(separator) or "{" in last or (separator == "." and head.count(".") != _IPV4_PARTS - 1):
        raise WhiteListInvalid(f"MultipleRemoteAddressStrategy netaddress examine scope Exception netaddress {text}")
    return [head + each for each in last[:-1].split(",") if each]


def _ipv4_range(text: str) -> Matches:
    parts = [part.strip() for part in text.split(".")]
    if len(parts) != _IPV4_PARTS:
        raise _bad_range(text)
    at = next((number for number, part in enumerate(parts) if part == "*" or "-" in part), 0)
    low, high = _bounds(parts[at], text, base=10, most=_LARGEST_PART)
    if at == 0 or not all(_number(part, 10, _LARGEST_PART) is not None for part in parts[:at]):
        raise _bad_range(text)
    head = parts[:at]

    def matches(address: str) -> bool:
        found = address.split(".")
        return len(found) == _IPV4_PARTS and found[:at] == head and low <= int(found[at]) <= high

    return matches


def _ipv6_range(text: str) -> Matches:
    groups = text.split(":")
    if groups[-1] == "*" and "-" in groups[-2]:
        fixed, part, count = groups[:-2], groups[-2], _IPV6_GROUPS - 2
    else:
        fixed, part, count = groups[:-1], groups[-1], _IPV6_GROUPS - 1
    low, high = _bounds(part, text, base=16, most=_LARGEST_GROUP)
    # The missing groups are filled up, so that the rest can be parsed as an address.
    try:
        head = IPv6Address(":".join([*fixed, *("0" for _ in range(_IPV6_GROUPS - count))])).exploded
    except AddressValueError as error:
        raise _bad_range(text) from error
    start = head[: count * _GROUP_WIDTH]

    def matches(address: str) -> bool:
        return address.startswith(start) and low <= int(address[len(start) : len(start) + _GROUP_WIDTH - 1], 16) <= high

    return matches


def _bounds(part: str, text: str, *, base: int, most: int) -> tuple[int, int]:
    """The smallest and the largest number that a part stands for."""
    if part == "*":
        return 0, most
    first, _, last = part.partition("-")
    low, high = _number(first, base, most), _number(last, base, most)
    if low is None or high is None or low > high:
        raise _bad_range(text)
    return low, high


def _number(text: str, base: int, most: int) -> int | None:
    if not text.isascii() or not text.isalnum() or len(text) > len("ffff"):
        return None
    try:
        number = int(text, base)
    except ValueError:
        return None
    return number if number <= most else None


def _bad_range(text: str) -> WhiteListInvalid:
    return WhiteListInvalid(f"Netaddress examine scope Exception netaddress is {text}")
