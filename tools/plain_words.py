"""Finds words that only this project would understand: `python -m tools.plain_words`.

Names, comments, messages and docs are read by strangers: docs/glossary.md has the field's words. This prints each place
where a tracked file has a word of `STOP_LIST`, or a page one of `PAGES_STOP_LIST`, and ends with 1 if there is one. The
environment `lint` of tox runs it. `ALLOWED` has files that may use any word, `ALLOWED_ON_PAGES` words that one may use.
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
"""Patterns, which match in any case of letters, each with the words to use instead."""
PAGES_STOP_LIST: Final[Mapping[str, str]] = {
    r"\b(?:comes?|came|coming) again\b": "is redelivered",
    r"\btold\b": "gets, is sent; reports",
    r"\btells?\b": "reports, sends, contains",
    r"\b(?:is|are|was|were|be|being) asked\b": "is queried, is requested",
    r"\basks\b": "queries, requests",
    r"\bwho (?:asks|gets|has|looks|reads|waits)\b": "the client (the reader …) that …",
    r"\b(?:no|some)body\b|\bwhoever\b": "no client, a user, the caller …",
    r"\btakes what\b": "takes, with a noun",
    r"\bwhat became of\b": "the outcome of",
    r"\b(?:of|by) (?:its|their|one's) own\b": "separate, another",
    r"\bby (?:itself|themselves)\b": "alone, automatically",
    r"\b(?:goes|go|went) on\b": "continues",
    r"\bin turns?\b": "one after the other, distributed over",
    r"\bthere again\b": "is back",
    r"\b(?:is|are|was|were) left\b": "remains, is omitted",
    r"\bgives? up\b|\bgiven up\b": "drops, ends, uses up",
    r"\b(?:holds?|held) up\b": "blocks, delays",
    r"\bpass(?:es|ed)? over\b": "skips, ignores",
    r"\blook(?:s|ed)? at\b": "reads, examines, checks",
    r"\bunder way\b": "in flight",
    r"\bfor ever\b": "without end",
    r"\ball the same\b": "nevertheless",
    r"\bbeside each other\b": "at the same time",
}
"""As `STOP_LIST`, for the pages of docs/ and the README only."""
SUFFIXES: Final = frozenset({".py", ".pyi", ".c", ".h", ".java", ".go", ".md", ".toml", ".ini"})
ALLOWED: Final = frozenset(
    {"CHANGELOG.md", "docs/glossary.md", "tests/tools/test_plain_words.py", "tools/plain_words.py"}
)
"""Files that quote the words, or tell of the past."""

ALLOWED_ON_PAGES: Final[Mapping[str, frozenset[str]]] = {
    "docs/benchmarks.md": frozenset({"come again", "given up"}),  # rows that the benchmark names
    "docs/tutorial.md": frozenset({"look at"}),  # a heading by which tests find the block below it
}
"""By page, words that it may use."""


def lines() -> Iterator[tuple[str, int, str]]:
    """Each line of the tracked files with text for readers: path, number from 1 on, text."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        path = ROOT / name
        if path.suffix in SUFFIXES and name not in ALLOWED and "golden" not in path.parts and path.is_file():
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                yield name, number, line


def is_page(name: str) -> bool:
    """Whether a file is the README or a page of docs/."""
    return name == "README.md" or (name.startswith("docs/") and name.endswith(".md"))


def findings(name: str, line: str) -> Iterator[tuple[str, str]]:
    """The words of the stop lists in a line of a file, each with the words to use instead."""
    stop_list = {**STOP_LIST, **PAGES_STOP_LIST} if is_page(name) else STOP_LIST
    allowed = ALLOWED_ON_PAGES.get(name, frozenset())
    for pattern, instead in stop_list.items():
        found = re.search(pattern, line, re.IGNORECASE)
        if found is not None and found[0].lower() not in allowed:
            yield found[0], instead


def main() -> int:
    """Print the places, and return 1 if there is one."""
    code = 0
    for name, number, line in lines():
        for word, instead in findings(name, line):
            print(f"{name}:{number}: {word!r}: say {instead!r}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
