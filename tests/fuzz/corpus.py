"""The inputs that are kept with the project: tests/corpus/PART/, each named by its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1] / "corpus"

MOST_BYTES: Final = 16 * 1024
"""Of one part's inputs together."""


def files(part: str) -> list[Path]:
    """A part's inputs, in an order that does not change."""
    return sorted((ROOT / part).glob("*"))


def keep(part: str, inputs: Iterable[bytes]) -> int:
    """Put inputs in the place of a part's corpus, the shortest first, as many as there is room for; how many."""
    folder = ROOT / part
    folder.mkdir(parents=True, exist_ok=True)
    for path in files(part):
        path.unlink()
    left, kept = MOST_BYTES, 0
    for data in sorted(set(inputs), key=lambda each: (len(each), each)):
        left -= len(data)
        if left < 0:
            break
        (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        kept += 1
    return kept
