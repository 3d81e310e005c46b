"""White lists against a slow model, which lists every address that an entry matches."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocketwire.server.acl.white_list import Matches, WhiteListInvalid, normal, white_list

part = st.integers(0, 255)
ipv4 = st.tuples(part, part, part, part).map(lambda parts: ".".join(map(str, parts)))
ipv6 = st.integers(0, 2**128 - 1).map(lambda number: str(ipaddress.IPv6Address(number)))
bounds = st.tuples(part, part).map(sorted)


def matcher(text: str) -> Matches:
    found = white_list(text)
    assert found is not None
    return found


@pytest.mark.parametrize("text", ["", " ", "\t"])
def test_a_blank_entry_matches_no_address(text: str) -> None:
    assert white_list(text) is None


@pytest.mark.parametrize("text", ["*", "*.*.*.*", "*:*:*:*:*:*:*:*"])
def test_wildcards_match_every_address(text: str) -> None:
    assert matcher(text)("192.0.2.7")
    assert matcher(text)(normal("::1"))


@given(ipv4, ipv4)
def test_an_address_matches_itself(one: str, other: str) -> None:
    assert matcher(one)(one)
    assert matcher(one)(other) == (one == other)
    assert matcher(f"{one},{other}")(other)
    assert not matcher(one)(normal("::1"))


@given(ipv4, st.lists(part, min_size=1, max_size=4), part)
def test_braces_match_each_address_in_them(head: str, parts: list[int], last: int) -> None:
    prefix = head.rpartition(".")[0]
    entry = matcher(prefix + ".{" + ",".join(map(str, parts)) + "}")
    assert entry(f"{prefix}.{last}") == (last in parts)


@given(st.integers(1, 3), st.tuples(part, part, part, part), st.one_of(st.none(), bounds), ipv4)
def test_a_range_matches_the_numbers_of_one_part(
    at: int, head: tuple[int, ...], some: list[int] | None, address: str
) -> None:
    text = [
        "*" if some is None else f"{some[0]}-{some[1]}" if number == at else str(head[number]) for number in range(4)
    ]
    text[:at] = [str(each) for each in head[:at]]
    entry = matcher(".".join(text))
    low, high = some or (0, 255)
    found = [int(each) for each in address.split(".")]

    def model(parts: list[int]) -> bool:
        return parts[:at] == list(head[:at]) and parts[at] in range(low, high + 1)

    assert entry(address) == model(found)
    near = [*head[:at], low, *found[at + 1 :]]
    assert entry(".".join(map(str, near)))
    beyond = [*head[:at], high + 1, *found[at + 1 :]]
    assume(high < 255)
    assert not entry(".".join(map(str, beyond)))


@given(ipv6, ipv6)
def test_addresses_of_ipv6_are_the_same_however_they_are_written(one: str, other: str) -> None:
    assume(ipaddress.IPv6Address(one).ipv4_mapped is None)  # such an address of a client is shown as IPv4
    full = ipaddress.IPv6Address(one).exploded
    for spelling in (one, full, full.upper()):
        assert matcher(spelling)(normal(one))
    assert matcher(one)(normal(other)) == (one == other)


@given(ipv6, st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), ipv6)
def test_ranges_of_ipv6_match(head: str, low: int, high: int, address: str) -> None:
    assume(low <= high)
    assume("." not in normal(address))
    groups = ipaddress.IPv6Address(head).exploded.split(":")
    found = [int(each, 16) for each in normal(address).split(":")]
    fixed = [int(each, 16) for each in groups]
    last = matcher(":".join([*groups[:7], f"{low:x}-{high:X}"]))
    assert last(normal(address)) == (found[:7] == fixed[:7] and low <= found[7] <= high)
    assert last(ipaddress.IPv6Address(":".join([*groups[:7], f"{high:x}"])).exploded)
    before = matcher(":".join([*groups[:6], f"{low:x}-{high:x}", "*"]))
    assert before(ipaddress.IPv6Address(":".join([*groups[:6], f"{low:x}", groups[7]])).exploded)
    assert before(normal(address)) == (found[:6] == fixed[:6] and low <= found[6] <= high)
    anything = matcher(":".join([*groups[:7], "*"]))
    assert anything(ipaddress.IPv6Address(head).exploded)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("192.168.*.7", "192.168.3.250", "192.169.3.7"),  # what follows the range is ignored
        ("192.168.3-4.*", "192.168.4.1", "192.168.5.1"),
        ("010.1.1.*", None, "10.1.1.1"),
        ("2001:db8::7:*", "2001:db8::7:1", "2001:db8::8:1"),
        ("2001:db8::*", "2001:db8::ffff", "2001:db8::1:1"),
        ("::*", "::5", "::1:5"),
        ("::1-2:*", "::2:9", "::3:9"),
        ("fe80::{1,a}", "fe80::A", "fe80::b"),
        ("2001:DB8::1,192.0.2.1", "2001:db8::1", "192.0.2.2"),
        ("10.0.0.0-0", "10.0.0.0", "10.0.0.1"),
    ],
)
def test_entries_match_the_addresses_of_the_model(text: str, yes: str | None, no: str) -> None:
    entry = matcher(text)
    assert yes is None or entry(normal(yes))
    assert not entry(normal(no))


@pytest.mark.parametrize(
    "text",
    [
        *("192.0.2", "192.0.2.256", "192.0.2.1.1", "one", "01.2.3.4", "1.2.3.4,x", "1.2.3.4, 1.2.3.5"),
        *("*.1.1.1", "1-2.*.1.1", "1.2.*", "1.2.3.*.5", "1.x.3.*", "1.2.3.-5", "1.2.3.5-", "1.2.3.9-5", "1.2.3.1-256"),
        *("1.2.{3,4}", "1.2.3{4}", "{1,2}", "1.2.3.{4,x}", "1.2.{3}.{4}", "::1{2}", "a-b", "1.2.3.\u0664-5"),
        *(
            "1:2:*",
            "1:*:2",
            "*:1",
            "1-2:3:4:5:6:7:8:9",
            "::12345-12346",
            "::5-4",
            "1::2::*",
            "::ffff:1.2.*",
            "::1.2.3.4:*",
        ),
        *("1:2:3:4:5:6:7:8:*", "1:2:3:4:5:6:7:1-10000", "1:2:3:4:5:6:1-2:3:*", "::g-h", "1.2.3.4/8", "::1/64"),
    ],
)
def test_malformed_entries_are_refused(text: str) -> None:
    with pytest.raises(WhiteListInvalid, match=r"etaddress"):
        white_list(text)


@given(st.text(alphabet="0123456789af.:*-{}, x", max_size=20), st.one_of(ipv4, ipv6))
def test_any_text_is_read_or_refused(text: str, address: str) -> None:
    try:
        found = white_list(text)
    except WhiteListInvalid:
        return
    assert found is None or found(normal(address)) in (True, False)


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::1", "0000:0000:0000:0000:0000:0000:0000:0001"),
        ("fe80::1%eth0", "fe80:0000:0000:0000:0000:0000:0000:0001"),
        ("somewhere", "somewhere"),
    ],
)
def test_addresses_are_compared_in_one_form(address: str, form: str) -> None:
    assert normal(address) == form
