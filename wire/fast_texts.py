"""Texts in a JSON header that msgspec reads as a number or a boolean, and Java does not: `1e0`, `1.0`, `null`, `1`.

The general decoder (`wire.headers`), which tells them apart, reads headers that have one, and those with a text that
only looks like one, such as a topic named `1.0`.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(rb':\s*"(?:-?[0-9]+[.eE]|null")').search


class OddTexts:
    """Finds such texts in headers with some booleans, which are given by their wire names."""

    __slots__ = ("_is_one",)

    def __init__(self, *truths: str) -> None:
        names = "|".join(map(re.escape, truths))
        self._is_one = re.compile(rf'"(?:{names})"\s*:\s*"1"'.encode()).search

    def __call__(self, header: bytes, *, true: bool) -> bool:
        """Tell whether a header has one; `true`: whether a boolean of it was read as true."""
        return _NUMBER(header) is not None or (true and self._is_one(header) is not None)
