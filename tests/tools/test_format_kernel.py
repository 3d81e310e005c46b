"""All of the kernel's C files are given to clang-format, and its result is that of the command."""

import os
from pathlib import Path

import pytest

from tools import build_kernel, format_kernel

FILES = {str(path) for path in build_kernel.SOURCES.glob("**/*") if path.suffix in {".c", ".h"}}


@pytest.mark.parametrize(
    ("options", "given", "code"),
    [([], {"-i"}, 0), (["--check"], {"--dry-run", "--Werror"}, 0), (["--check"], {"--dry-run", "--Werror"}, 1)],
)
def test_every_file_is_formatted_or_checked(
    options: list[str], given: set[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "clang-format"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/given"\nexit {code}\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert format_kernel.main(options) == code
    assert set((tmp_path / "given").read_text(encoding="utf-8").splitlines()) == given | FILES
    assert len(FILES) > 100
