"""Finds words that only this project would understand: `python -m tools.plain_words`.

Names, comments, messages and docs are read by strangers: docs/glossary.md has the field's words. This prints each place
where a tracked file has a word of `STOP_LIST`, a page one of `PAGES_STOP_LIST`, or code below `CODE_FOLDERS` one of
`CODE_STOP_LIST`, and ends with 1 if there is one. The environment `lint` of tox runs it. `ALLOWED` has files that may
use any word, `QUOTED` words that a file may use.
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
CODE_STOP_LIST: Final[Mapping[str, str]] = {
    r"(?:\b|_)(?:told|tells?)(?:\b|_)": "reports, sends, contains",
    r"(?:\b|_)ask(?:s|ed)(?:\b|_)": "queries, requests, calls",
    r"\b(?:no|some)body\b|\bwhoever\b": "no client, a process, a waiting request …",
    r"\bcom(?:es?|ing) again\b|\bcame again\b": "is redelivered, is repeated",
    r"(?:\b|_)in[ _]turn(?:\b|_)": "one after the other, alternately",
    r"\bfor ever\b": "without end",
    r"(?:\b|_)under[ _]way(?:\b|_)": "in flight",
    r"(?:\b|_)(?:gives?|given|gave)[ _]up(?:\b|_)": "drops, ends, times out",
    r"(?:\b|_)(?:holds?|held)[ _]up(?:\b|_)": "blocks, delays",
}
"""As `STOP_LIST`, for the code below `CODE_FOLDERS` only; of names it has no methods called `ask`."""
CODE_FOLDERS: Final = (
    "bench/",
    "go/",
    "java/",
    "kernel/",
    "pyspark_rocketmq/",
    "rocketwire/",
    "spark/",
    "store/",
    "tests/bench/",
    "tests/capture/",
    "tests/compat/",
    "tests/fuzz/",
    "tests/kernel/",
    "tests/remoting/",
    "tests/store/",
    "tests/testing/",
    "tests/wire/",
    "tools/",
    "wire/",
)
SUFFIXES: Final = frozenset({".py", ".pyi", ".c", ".h", ".java", ".go", ".md", ".toml", ".ini"})
ALLOWED: Final = frozenset(
    {"CHANGELOG.md", "docs/glossary.md", "tests/tools/test_plain_words.py", "tools/plain_words.py"}
)
"""Files that quote the words, or tell of the past."""

QUOTED: Final[Mapping[str, frozenset[str]]] = {
    "docs/benchmarks.md": frozenset({"come again", "given up"}),  # rows that the benchmark names
    "docs/tutorial.md": frozenset({"look at"}),  # a heading by which tests find the block below it
    "bench/backlogs.py": frozenset({"come again", "given up"}),  # the rows of docs/benchmarks.md
    "bench/spark/tables.py": frozenset({"asked"}),  # a column of docs/benchmarks.md
    # Texts that users' programs may compare, and the same of Spark's two sources.
    "java/spark/src/main/java/io/github/rocketwire/spark/request/Ranges.java": frozenset({"asks"}),
    "rocketwire/cli/group/check.py": frozenset({"tell", "told"}),
    "rocketwire/cli/environment.py": frozenset({"nobody"}),
    "rocketwire/cli/offset/reset.py": frozenset({"nobody", "told"}),
    "rocketwire/cli/spark/session.py": frozenset({"tells"}),
    "rocketwire/cli/trace/timeline.py": frozenset({"asked"}),
    "spark/files/generic.py": frozenset({"nobody"}),
    "spark/request/ranges.py": frozenset({"asks"}),
    "tools/release/version.py": frozenset({"tell"}),
}
"""By file, words that it may use."""


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
    more = PAGES_STOP_LIST if is_page(name) else CODE_STOP_LIST if name.startswith(CODE_FOLDERS) else {}
    allowed = QUOTED.get(name, frozenset())
    for pattern, instead in {**STOP_LIST, **more}.items():
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
