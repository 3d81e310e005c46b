"""The known name that is nearest to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(text: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?` with the known name that is nearest to a text; nothing if none is near."""
    names = {name.lower(): name for name in sorted(known)}
    typed = text.lower()
    begun = [name for name in names if len(typed.strip("-")) > 1 and name.startswith(typed)]
    near = begun or get_close_matches(typed, names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""
