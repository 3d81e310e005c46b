"""Make a version: its number, its entry in CHANGELOG.md, one commit and one tag of both.

    python -m tools.release.version 0.2.0 [--dry-run]

Nothing is changed unless everything can be: the work tree must be clean, the version newer than all that have a tag or
an entry, and there must be news. What fails later is taken back.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

CHANGES: Final = Path("CHANGELOG.md")
NEWS: Final = Path("newsfragments")
SOURCE: Final = Path("rocketwire") / "__init__.py"
_ASSIGNED: Final = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_ENTRY: Final = re.compile(r"^## (\S+) \(", re.MULTILINE)


class VersionRefused(Exception):
    """The version cannot be made now; nothing has changed."""


def version_of(root: Path) -> str:
    """The version in the sources."""
    found = _ASSIGNED.search((root / SOURCE).read_text(encoding="utf-8"))
    if found is None:
        raise VersionRefused(f"{SOURCE} has no line __version__")
    return found[1]


def news(root: Path) -> list[Path]:
    """The newsfragments, which are in no entry of the change log yet."""
    return sorted((root / NEWS).glob("*.md"))


def unfinished(root: Path) -> Iterator[str]:
    """What has to be done before files of the present version may be published."""
    version = version_of(root)
    if version not in _ENTRY.findall((root / CHANGES).read_text(encoding="utf-8")):
        yield f"{CHANGES} has no entry for {version}"
    if left := len(news(root)):
        yield f"{NEWS} has {left} files that are in no entry"


def check(root: Path, version: str) -> None:
    """Raise the reason why a version cannot be made.

    Raises:
        VersionRefused: it is no version such as 0.2.0, it is not newer than the others, the work tree of the repository
            is not clean, or there are no news.
    """
    try:
        wanted = Version(version)
    except InvalidVersion as error:
        raise VersionRefused(f"{version} is no version") from error
    if str(wanted) != version or len(wanted.release) != 3 or wanted.local or wanted.is_devrelease:
        raise VersionRefused(f"{version} is not written as 0.2.0, 0.2.0a1 or 0.2.0rc1 is")
    present = version_of(root)
    if wanted < Version(present):
        raise VersionRefused(f"{version} is not newer than {present}, which {SOURCE} says")
    made = [*_ENTRY.findall((root / CHANGES).read_text(encoding="utf-8"))]
    made += [tag.removeprefix("v") for tag in _git(root, "tag", "--list", "v[0-9]*").split()]
    if newer := sorted({other for other in made if wanted <= Version(other)}, key=Version):
        raise VersionRefused(f"{version} is not newer than {newer[-1]}, which has been made")
    if changed := _git(root, "status", "--porcelain"):
        raise VersionRefused(f"the work tree is not clean:\n{changed.rstrip()}")
    if not news(root):
        raise VersionRefused(f"{NEWS} is empty: there is nothing to tell")


def make(root: Path, version: str) -> None:
    """Write the number and the entry, commit both, and tag the commit `vVERSION`.

    Raises:
        VersionRefused: as `check`.
        subprocess.CalledProcessError: towncrier or git failed, and has printed the reason; the work tree is as it was.
    """
    check(root, version)
    before = _git(root, "rev-parse", "HEAD").strip()
    source = root / SOURCE
    try:
        text = source.read_text(encoding="utf-8")
        source.write_text(_ASSIGNED.sub(f'__version__ = "{version}"', text), encoding="utf-8")
        subprocess.run([*_towncrier(version), "--yes"], cwd=root, check=True, stdout=subprocess.DEVNULL)
        _git(root, "add", "--all")  # towncrier has changed its files, and the work tree was clean
        _git(root, "commit", "--quiet", "--message", f"Release {version}")
        _git(root, "tag", "--annotate", "--message", f"rocketwire {version}", f"v{version}")
    except BaseException:
        _git(root, "reset", "--quiet", "--hard", before)  # the work tree was clean
        raise


def _towncrier(version: str) -> list[str]:
    return [sys.executable, "-m", "towncrier", "build", "--version", version]


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the version of the command line; 2: it is refused."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release.version",
        description="Write a version's number and its entry in CHANGELOG.md, commit and tag them. It pushes nothing.",
        epilog="Example: python -m tools.release.version 0.2.0 --dry-run",
    )
    parser.add_argument("version", help="the version to make, such as 0.2.0 or 0.2.0rc1")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, and print the entry")
    options = parser.parse_args(arguments)
    root = Path()
    try:
        if options.dry_run:
            check(root, options.version)
            return subprocess.run([*_towncrier(options.version), "--draft"], cwd=root, check=False).returncode
        make(root, options.version)
    except VersionRefused as refused:
        print(refused, file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as failed:
        print(f"nothing has changed: {' '.join(map(str, failed.cmd))} ended with {failed.returncode}", file=sys.stderr)
        return 1
    print(f"Made {options.version}. Read the entry in {CHANGES}; then: git push origin HEAD v{options.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
