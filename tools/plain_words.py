"""Finds words that only this project would understand: `python -m tools.plain_words`.

Names, comments, messages and docs are read by strangers: docs/glossary.md has the field's words. This lists the places
where a word of `STOP_LIST` stands in a tracked file and ends with 1 if there is one; tox's environment `lint` runs it.
A word that means something else in its place is excepted by file in `ALLOWED`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
STOP_LIST: Final[Mapping[str, str]] = {
    r"allowed (?:is|are) (?=[A-Z{<\[\"'])": "expected …",
    r"(?:\b|_)anew(?:\b|_)": "again",
    r"\bin[ _]vain\b": "without result",
    r"\bas ever\b": "as usual",
    r"\bis not known anew\b": "could not be refreshed",
    r"\blets?[ _]others\b": "yields",
    r"\bhere who\b": "one of those here that",
    r"\bfarewells?\b": "close, linger",
    r"\bengage[ds]?\b": "run a long request",
    r"\bat_turn\b": "as_one_step",
    r"\bapart\(": "in_thread",
    r"\bis_foreseen\b": "is_expected",
    r"\bcom(?:es|ing|e)_again\b": "is_redelivered, redelivery",
    r"\bcame_again\b": "was_redelivered",
    r"\bmeet\(": "on_store_error",
    r"\bupkeep\b": "maintenance",
    r"\bneighbourhood\b": "local networks",
    r"\bis good for one\b": "may be used once",
}
"""Of each pattern, without regard to capitals: what to say instead."""
SUFFIXES: Final = frozenset({".py", ".pyi", ".c", ".h", ".java", ".go", ".md", ".toml", ".ini"})
ALLOWED: Final = frozenset(
    {"CHANGELOG.md", "docs/glossary.md", "tests/tools/test_plain_words.py", "tools/plain_words.py"}
)
"""Files that quote the words, or tell of the past."""


def lines() -> Iterator[tuple[str, int, str]]:
    """Each line of the tracked files with text for readers: path, number from 1 on, text."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        path = ROOT / name
        if path.suffix in SUFFIXES and name not in ALLOWED and "golden" not in path.parts and path.is_file():
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                yield name, number, line


def findings(line: str) -> Iterator[tuple[str, str]]:
    """The words of the stop list in a line, each with what to say instead."""
    for pattern, instead in STOP_LIST.items():
        found = re.search(pattern, line, re.IGNORECASE)
        if found is not None:
            yield found[0], instead


def main() -> int:
    """Print the places, and return 1 if there is one."""
    code = 0
    for name, number, line in lines():
        for word, instead in findings(line):
            print(f"{name}:{number}: {word!r}: say {instead!r}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
