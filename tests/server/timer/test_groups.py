"""Groups that are not too large."""

from __future__ import annotations

from rocketwire.server.timer.groups import GROUP_BYTES, split_into_groups


def test_a_group_has_as_many_as_are_not_too_large_together() -> None:
    sizes = [0, GROUP_BYTES - 1, 1, 1, 3 * GROUP_BYTES, 5, GROUP_BYTES]
    items = list("abcdefg")
    assert [*map("".join, split_into_groups(items, sizes))] == ["abc", "d", "e", "f", "g"]
    assert list(split_into_groups(items, [1] * 7)) == [items]
    assert list(split_into_groups([], [])) == []
