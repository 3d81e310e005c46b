"""What `make release` does; the building itself is tested by tests/test_packaging.py."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rocketwire
from tools.release import ReleaseFailed, try_program, unfinished

KERNEL = "native" if find_spec("rocketwire._kernel") else "python"


@pytest.mark.costly
def test_a_program_is_tried_by_its_version_a_start_and_a_stop(tmp_path: Path) -> None:
    try_program([sys.executable, "-m", "rocketwire"], kernel=KERNEL, folder=tmp_path)


def program(folder: Path, serve: str) -> list[str | Path]:
    """A program of the right version that does something else for `serve`."""
    script = folder / "program"
    version = f"rocketwire {rocketwire.__version__} (kernel: native)"
    script.write_text(f'[ "$1" = --version ] && echo "{version}" && exit\n{serve}\n', encoding="utf-8")
    return ["sh", script]


def test_another_kernel_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFailed, match=r"expected .*kernel: python.* got .*kernel: native"):
        try_program(program(tmp_path, ""), kernel="python", folder=tmp_path)


def test_a_program_that_does_not_start_is_a_failure_with_its_log(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFailed, match="ended with 2: no such port"):
        try_program(program(tmp_path, "echo no such port >&2; exit 2"), kernel="native", folder=tmp_path)


def test_a_program_that_does_not_stop_cleanly_is_a_failure(tmp_path: Path) -> None:
    serve = "trap 'exit 3' TERM; echo 'rocketwire ready: '; while :; do sleep 0.1; done"
    with pytest.raises(ReleaseFailed, match="ended with 3: rocketwire ready"):
        try_program(program(tmp_path, serve), kernel="native", folder=tmp_path)


def test_news_that_are_in_no_entry_are_said(tmp_path: Path) -> None:
    (tmp_path / "newsfragments").mkdir()
    fragment = tmp_path / "newsfragments" / "1.feature.md"
    fragment.touch()
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("# Changes\n\n## 0.0.1 (2026-01-31)\n", encoding="utf-8")
    version = rocketwire.__version__
    assert list(unfinished(tmp_path)) == [
        f"CHANGELOG.md has no entry for {version}",
        "newsfragments has 1 files that are in no entry",
    ]
    changes.write_text(f"# Changes\n\n## {version} (2026-02-28)\n", encoding="utf-8")
    fragment.unlink()
    assert list(unfinished(tmp_path)) == []
