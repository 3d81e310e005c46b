"""What an account may do with a topic or a group: bits, as Apache has them, and how a file writes them.

DENY beats all others. What a file says that is none of the known texts means DENY.
"""

from __future__ import annotations

from typing import Final

DENY: Final = 1
PUB: Final = 4
SUB: Final = 8

_BITS: Final = {"DENY": DENY, "PUB": PUB, "SUB": SUB, "PUB|SUB": PUB | SUB, "SUB|PUB": PUB | SUB}


def known(text: str) -> bool:
    """Whether the text is one of those that a file may have for a permission."""
    return text.strip() in _BITS


def read(text: str | None) -> int:
    """The bits of a permission's text; without one, and with any other text: DENY."""
    return DENY if text is None else _BITS.get(text.strip(), DENY)


def allows(owned: int, needed: int) -> bool:
    """Whether who owns these bits may do what needs one of those."""
    return not owned & DENY and bool(owned & needed)


def assignment(text: str) -> tuple[str, str] | None:
    """The name and the permission's text of `NAME=PERMISSION`; None: it is no such thing. Empty parts do not count."""
    parts = [part for part in text.split("=") if part]
    return (parts[0].strip(), parts[1].strip()) if len(parts) == len(("name", "permission")) else None
