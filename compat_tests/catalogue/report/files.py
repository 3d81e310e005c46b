"""The files of a report in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rocketwire.compat.report.badge import badge
from rocketwire.compat.report.junit import junit
from rocketwire.compat.report.markdown import markdown
from rocketwire.compat.report.page import page
from rocketwire.compat.results import Results

RESULTS: Final = "results.json"
WRITERS: Final[Mapping[str, Callable[[Results], str]]] = {
    RESULTS: lambda results: results.to_json().decode(),
    "report.html": page,
    "junit.xml": junit,
    "summary.md": markdown,
    "badge.svg": badge,
}


def write_report(results: Results, folder: Path) -> list[Path]:
    """Write all files into the folder, which is made; the results themselves come first, before anything can go wrong.

    Raises:
        OSError: A file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, write in WRITERS.items():
        path = folder / name
        path.write_text(write(results), encoding="utf-8", errors="replace")
        files.append(path)
    return files
