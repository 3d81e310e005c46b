"""Texts of a JSON header that msgspec takes for a number or a boolean, and Java does not: `1e0`, `1.0`, `null`, `1`.

Headers that have one are read by the general decoder, which tells them apart (`wire.headers`), and so are those with a
text that only looks like it, as a topic named `1.0` does.
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
