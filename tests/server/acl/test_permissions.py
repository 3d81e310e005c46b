from __future__ import annotations

import itertools

import pytest

from rocketwire.server.acl.permissions import DENY, PUB, SUB, allows, assignment, is_permission, parse_permissions


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("DENY", DENY),
        ("PUB", PUB),
        ("SUB", SUB),
        ("PUB|SUB", PUB | SUB),
        ("SUB|PUB", PUB | SUB),
        (" SUB\t", SUB),
        ("pub", DENY),
        ("ANY", DENY),
        ("PUB |SUB", DENY),
        ("", DENY),
        (None, DENY),
    ],
)
def test_texts(text: str | None, bits: int) -> None:
    assert parse_permissions(text) == bits


def test_a_text_that_is_no_permission_is_told_from_deny() -> None:
    assert [is_permission(text) for text in ("DENY", " PUB ", "pub", "")] == [True, True, False, False]


def test_who_may_do_what() -> None:
    # The rule in words, for every combination of bits: not if DENY is among them, else if one that is needed is.
    for owned, needed in itertools.product(range(16), (PUB, SUB)):
        words = [name for name, bit in (("DENY", DENY), ("PUB", PUB), ("SUB", SUB)) if owned & bit]
        wanted = "PUB" if needed == PUB else "SUB"
        assert allows(owned, needed) is ("DENY" not in words and wanted in words)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("T=PUB", ("T", "PUB")),
        (" T = PUB|SUB ", ("T", "PUB|SUB")),
        ("T==PUB", ("T", "PUB")),
        ("=T=PUB=", ("T", "PUB")),
        ("T", None),
        ("T=", None),
        ("=PUB", None),
        ("", None),
        ("T=PUB=SUB", None),
    ],
)
def test_assignments(text: str, found: tuple[str, str] | None) -> None:
    assert assignment(text) == found
