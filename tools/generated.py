"""Generating the parts of pages that are made from code: each is between two marker comments; and whole files.

`python -m tools.generated` writes them; a test fails when one is out of date.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from rocketwire.compat import results
from tools import configuration_page, facts, request_codes_page, rooms_page

PAGES: Final[dict[Path, dict[str, Callable[[], str]]]] = {
    Path("docs/request-codes.md"): {
        "request codes": request_codes_page.table,
        "codes not served": request_codes_page.unsupported,
    },
    Path("docs/configuration.md"): {
        "keys": configuration_page.keys,
        "keys without effect": configuration_page.without_effect,
    },
    Path("docs/architecture.md"): {
        f"rooms of {house}": partial(rooms_page.house_table, house) for house in rooms_page.HOUSES
    },
}
FILES = {
    Path("compat_tests/catalogue/results.schema.json"): results.schema_text,
    Path("kernel/core/facts.h"): facts.c_header,
    Path("java/spark/src/main/java/io/github/rocketwire/spark/Facts.java"): facts.java_class,
}


class MarkerMissing(Exception):
    """A page lacks the markers of a part."""


def up_to_date(root: Path, page: Path) -> str:
    """The page's text with its generated parts up to date."""
    text = (root / page).read_text(encoding="utf-8")
    for part, make in PAGES[page].items():
        text = replace_part(text, part, make())
    return text


def replace_part(text: str, part: str, content: str) -> str:
    """`text` with the text between the part's markers replaced.

    Raises:
        MarkerMissing: the text has no such markers.
    """
    begin, end = f"<!-- {part}: made by tools/generated.py -->\n", f"<!-- {part}: end -->\n"
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise MarkerMissing(part)
    return f"{before}{begin}{content}{end}{after}"


def main() -> int:
    """Write all pages and files again."""
    for page in PAGES:
        page.write_text(up_to_date(Path(), page), encoding="utf-8")
    for file, make in FILES.items():
        file.write_text(make(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
