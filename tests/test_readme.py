"""Every block of code in the README is run by a test."""

import re
from pathlib import Path

from compat_tests import readme

COMPAT = Path(__file__).resolve().parents[1] / "compat_tests"


def test_every_block_is_run_by_a_test() -> None:
    sources = [path.read_text(encoding="utf-8") for path in COMPAT.rglob("test_*.py")]
    asked = [title for source in sources for title in re.findall(r'\bprinted\("([^"]+)"\)', source)]
    assert sorted(asked) == sorted(readme.blocks(readme.README))


def test_blocks_are_found_by_heading_and_number() -> None:
    page = "# A\n\n```\none\n# two\n```\n\n```go\nthree\n```\n## B\ntext `` ```\n```java\nfour\n```\n"
    assert readme.blocks(page) == {"A 1": "one\n# two\n", "A 2": "three\n", "B 1": "four\n"}


def test_commands_are_lines_without_remarks() -> None:
    assert readme.commands("one --a 'b#c'   # what it does\n# all a remark\n\ntwo\n") == ["one --a 'b#c'", "two"]
