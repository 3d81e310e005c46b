"""Names of properties are spelled in `wire.facts.properties`; C and Java have theirs from the files made of it."""

import re
from collections import defaultdict
from pathlib import Path

from rocketwire.wire.facts import properties

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("wire", "store", "server", "spark", "rocketwire", "kernel", "java", "bench", "compat_tests", "tools")
SUFFIXES = {".py", ".c", ".h", ".java", ".go", ".js", ".rs"}
GENERATED = {"facts.h", "Facts.java"}
MOST = 4
"""Files with a name: its declaration, and official clients that are not made from it."""


def sources() -> list[Path]:
    """What is written by hand, but tests."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    others = [path for path in found if path.name not in GENERATED and not path.name.startswith("test_")]
    return [path for path in others if "src/test" not in path.as_posix()]


def test_no_name_is_spelled_in_many_files() -> None:
    names = sorted((each for each in properties.OWN_NAMES if "_" in each), key=len, reverse=True)
    spelled = re.compile(rf"""["'](?:\\x02|\\2)?({"|".join(names)})(?:["']|\\x01|\\1|\\u0001)""")
    files: dict[str, set[Path]] = defaultdict(set)
    for path in sources():
        for name in spelled.findall(path.read_text(encoding="utf-8")):
            files[name].add(path.relative_to(ROOT))
    assert {name: found for name, found in files.items() if len(found) > MOST} == {}
    assert files["UNIQ_KEY"] >= {Path("wire/facts/properties.py")}
