"""The inputs that are kept with the project: an archive a part, tests/corpus/PART.zip; each is named by its content."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1] / "corpus"

MOST_BYTES: Final = 16 * 1024
"""Of one part's inputs together."""


def inputs(part: str) -> dict[str, bytes]:
    """A part's inputs by name, in an order that does not change; none if nothing is kept of it."""
    path = _path(part)
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in sorted(archive.namelist())}


def keep(part: str, found: Iterable[bytes]) -> int:
    """Put inputs in the place of a part's corpus, the shortest first, as far as there is room; returns how many."""
    left, kept = MOST_BYTES, {}
    for data in sorted(set(found), key=lambda each: (len(each), each)):
        left -= len(data)
        if left < 0:
            break
        kept[hashlib.sha256(data).hexdigest()[:16]] = data
    path = _path(part)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without compression and dates: the same inputs are the same bytes, wherever and whenever they are written.
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in sorted(kept.items()):
            archive.writestr(zipfile.ZipInfo(name), data)
    return len(kept)


def _path(part: str) -> Path:
    return ROOT / f"{part}.zip"
