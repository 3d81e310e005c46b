"""The blocks of code in the README and the tutorial, for the tests that run them as they are printed.

A block is identified by its heading and its number under it, "Quick start 1". `tests/test_readme.py` fails if no test
uses a block by `printed`, or if both pages have blocks under the same heading.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL: Final = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")

PORTS: Final = (9876, 10911, 10909)
"""The name server, the broker and its VIP channel, where nothing else is given."""

_HEADING_OR_BLOCK: Final = re.compile(r"^#+ (?P<heading>[^\n]+)$|^```\w*\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> dict[str, str]:
    """All blocks of a page, by heading and number."""
    found: dict[str, str] = {}
    heading, number = "", 0
    for match in _HEADING_OR_BLOCK.finditer(text):
        if match["heading"] is not None:
            heading, number = match["heading"], 0
        else:
            number += 1
            found[f"{heading} {number}"] = match["code"]
    return found


def printed(title: str) -> str:
    """A block of the README or of the tutorial."""
    return (blocks(README) | blocks(TUTORIAL))[title]


def commands(block: str) -> list[str]:
    """The commands of a block, without the remarks behind them."""
    lines = (re.sub(r"\s+# .*|^# .*", "", line) for line in block.splitlines())
    return [line for line in lines if line]


def environment() -> dict[str, str]:
    """The environment of a shell in which rocketwire is installed: that of the tests is first in PATH."""
    programs = Path(sys.executable).parent
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"}
