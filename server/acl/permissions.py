"""Permissions for a topic or a group: Apache's bits, and their text in the file.

DENY overrides all others. Unknown text means DENY.
"""

from __future__ import annotations

from typing import Final

DENY: Final = 1
PUB: Final = 4
SUB: Final = 8

_BITS: Final = {"DENY": DENY, "PUB": PUB, "SUB": SUB, "PUB|SUB": PUB | SUB, "SUB|PUB": PUB | SUB}


def is_permission(text: str) -> bool:
    """Whether the text is a valid permission."""
    return text.strip() in _BITS


def parse_permissions(text: str | None) -> int:
    """The bits of a permission's text; missing or unknown text: DENY."""
    return DENY if text is None else _BITS.get(text.strip(), DENY)


def allows(owned: int, needed: int) -> bool:
    """Whether the bits `owned` allow a request that needs one of the bits `needed`."""
    return not owned & DENY and bool(owned & needed)


def assignment(text: str) -> tuple[str, str] | None:
    """Name and permission text of `NAME=PERMISSION`; None: the text has another form. Empty parts do not count."""
    parts = [part for part in text.split("=") if part]
    return (parts[0].strip(), parts[1].strip()) if len(parts) == len(("name", "permission")) else None
