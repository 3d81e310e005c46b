"""Formats the kernel's C files by kernel/.clang-format: `python -m tools.format_kernel`.

With `--check` it changes nothing and ends with 1 where a file is formatted otherwise; tox's environment `lint` does
that. It needs clang-format of the release that pyproject.toml names: another one may format otherwise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from tools.build_kernel import ROOT, SOURCES


def main(arguments: Sequence[str] | None = None) -> int:
    """Format or compare all files, and return clang-format's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.format_kernel", description="Format the kernel's C files.")
    parser.add_argument("--check", action="store_true", help="change nothing, only list what is formatted otherwise")
    options = parser.parse_args(arguments)
    how = ["--dry-run", "--Werror"] if options.check else ["-i"]
    files = map(str, sorted(SOURCES.rglob("*.[ch]")))
    return subprocess.run(["clang-format", *how, *files], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
