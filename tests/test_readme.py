"""The README is short, its links lead somewhere, and every block of code in it and in the tutorial is run by a test."""

import re
from pathlib import Path

import pytest

from compat_tests import readme

COMPAT = readme.ROOT / "compat_tests"
API = readme.ROOT / "docs" / "api" / "index.md"


def test_every_block_is_run_by_a_test() -> None:
    sources = [path.read_text(encoding="utf-8") for path in COMPAT.rglob("test_*.py")]
    requested = [title for source in sources for title in re.findall(r'\bprinted\("([^"]+)"\)', source)]
    printed = [*readme.blocks(readme.README), *readme.blocks(readme.TUTORIAL)]
    assert sorted(requested) == sorted(printed)


def test_the_readme_fits_on_two_screens() -> None:
    assert len(readme.README.splitlines()) < 150


def test_blocks_are_found_by_heading_and_number() -> None:
    page = "# A\n\n```\none\n# two\n```\n\n```go\nthree\n```\n## B\ntext `` ```\n```java\nfour\n```\n"
    assert readme.blocks(page) == {"A 1": "one\n# two\n", "A 2": "three\n", "B 1": "four\n"}


def test_commands_are_lines_without_remarks() -> None:
    assert readme.commands("one --a 'b#c'   # what it does\n# all a remark\n\ntwo\n") == ["one --a 'b#c'", "two"]


def test_the_example_of_the_api_runs(capsys: pytest.CaptureFixture[str]) -> None:
    ((_, example),) = readme.blocks(API.read_text(encoding="utf-8")).items()
    exec(example, {})
    assert capsys.readouterr().out == "TopicTest\n"


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# `mkdocs build --strict` checks those of docs/.
@pytest.mark.parametrize("page", sorted(readme.ROOT.glob("*.md")), ids=lambda page: page.name)
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    assert [path for path, _ in links if not (readme.ROOT / path).exists()] == []
    assert [anchor for path, anchor in links if anchor and anchor not in anchors(readme.ROOT / path)] == []


def test_links_of_the_documentation_are_named_by_titles() -> None:
    """A reader of the site sees no file names: `[Limits](limits.md)`, not `[limits.md](limits.md)`."""
    pages = sorted((readme.ROOT / "docs").rglob("*.md"))
    named = {page.name: re.findall(r"\[[^\]]*\.md\]\([^)]*\)", page.read_text(encoding="utf-8")) for page in pages}
    assert {name: links for name, links in named.items() if links} == {}
