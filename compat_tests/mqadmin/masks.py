"""What differs between two runs of one command, masked: times, addresses, ids and durations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_MASKS: Final = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"\b[0-9A-F]{32}\b", "ID"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
        (r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \w+ \d{4}\b", "TIME"),
        (r"\b\d{4}-\d\d-\d\d[ #]\d\d:\d\d:\d\d([.,:]\d+)?", "TIME"),
        (r"\b1[5-9]\d{11}\b", "MS"),
        (r"\b20\d{12}(\d{3})?\b", "TIME"),
        (r"\b(\d{1,3}\.){3}\d{1,3}@[^\s,\]]+", "CLIENT"),
        (r"\b127\.0\.0\.1:\d+", "ADDRESS"),
        (r"\b((?!127\.0|192\.0\.2)\d{1,3}\.){3}\d{1,3}\b", "HOST"),
        (r"\b\d+(\.\d+)? ?ms\b", "DURATION"),
        (r"\$\$Lambda\$\d+/0x[0-9a-f]+", "$$LAMBDA"),
        (r"@[0-9a-f]{4,8}\b", "@HASH"),
        (r"\s+", " "),
    )
)


def masked(lines: Iterable[str], names: Mapping[str, str], varies: str = "") -> list[str]:
    """The lines with content, masked and sorted: tools print tables in the order of hash maps.

    `names`: texts of this endpoint or of this run, with what they are replaced by; `varies`: a pattern of more. A line
    that is nothing else has no content.
    """
    more = re.compile(varies) if varies else None
    return sorted(found for line in lines if (found := _masked(line, names, more)))


def _masked(line: str, names: Mapping[str, str], more: re.Pattern[str] | None) -> str:
    for text, name in names.items():
        line = line.replace(text, name)
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    line = line.strip() if more is None else more.sub("*", line.strip())
    return "" if line == "*" else line
