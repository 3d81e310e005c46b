"""A version is made whole or not at all. towncrier is no package of the tests, so a script stands for it here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.release import version
from tools.release.version import VersionRefused, check, main, make, unfinished

TOWNCRIER = """
import pathlib, subprocess, sys
if "--draft" in sys.argv:
    print("the entry of", sys.argv[1])
else:
    changes = pathlib.Path("CHANGELOG.md")
    changes.write_text(changes.read_text() + f"\\n## {sys.argv[1]} (2026-01-31)\\n")
    subprocess.run(["git", "rm", "--quiet", "newsfragments/1.feature.md"], check=True)
"""


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of version 0.1.0 with one newsfragment."""
    root = tmp_path / "repository"
    for name, text in {
        "rocketwire/__init__.py": '"""Some."""\n\n__version__ = "0.1.0"\n',
        "CHANGELOG.md": "# Changes\n",
        "newsfragments/1.feature.md": "Something.\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for key, value in {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(key, value)
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "config", "user.name", "Someone")
    git(root, "config", "user.email", "someone@example.org")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Begin")
    script = tmp_path / "towncrier.py"
    script.write_text(TOWNCRIER, encoding="utf-8")
    monkeypatch.setattr(version, "_towncrier", lambda number: [sys.executable, str(script), number])
    monkeypatch.chdir(root)
    return root


def test_number_entry_commit_and_tag_are_made_together(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["0.2.0"]) == 0
    assert "git push origin HEAD v0.2.0" in capsys.readouterr().out
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "log", "--format=%s") == "Release 0.2.0\nBegin"
    assert git(root, "cat-file", "-t", "v0.2.0") == "tag"
    assert git(root, "rev-list", "-1", "v0.2.0") == git(root, "rev-parse", "HEAD")
    assert '__version__ = "0.2.0"\n' in (root / "rocketwire" / "__init__.py").read_text(encoding="utf-8")
    assert list(unfinished(root)) == []


def test_the_first_version_is_that_of_the_sources(root: Path) -> None:
    assert list(unfinished(root)) == [
        "CHANGELOG.md has no entry for 0.1.0",
        "newsfragments has 1 files that are in no entry",
    ]
    make(root, "0.1.0")
    assert list(unfinished(root)) == []
    with pytest.raises(VersionRefused, match=r"0\.1\.0 is not newer than 0\.1\.0, which has been made"):
        check(root, "0.1.0")


def test_a_dry_run_prints_the_entry_and_changes_nothing(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = git(root, "rev-parse", "HEAD")
    assert main(["0.2.0", "--dry-run"]) == 0
    assert capfd.readouterr().out == "the entry of 0.2.0\n"
    assert (git(root, "status", "--porcelain"), git(root, "tag"), git(root, "rev-parse", "HEAD")) == ("", "", before)


@pytest.mark.parametrize("wanted", ["next", "0.2", "v0.2.0", "0.2.0.dev1", "0.2.0+local", "00.2.0"])
def test_what_is_not_written_as_a_version_is_refused(root: Path, wanted: str) -> None:
    with pytest.raises(VersionRefused, match=r"is no version|is not written as"):
        check(root, wanted)


@pytest.mark.parametrize("wanted", ["0.0.9", "0.1.0rc1"])
def test_an_older_version_is_refused(root: Path, wanted: str) -> None:
    with pytest.raises(VersionRefused, match=r"is not newer than 0\.1\.0, which rocketwire/__init__\.py says"):
        check(root, wanted)


def test_a_version_older_than_a_tag_is_refused(root: Path) -> None:
    git(root, "tag", "v0.10.0")
    with pytest.raises(VersionRefused, match=r"0\.9\.0 is not newer than 0\.10\.0, which has been made"):
        check(root, "0.9.0")
    check(root, "0.10.1rc1")


def test_a_changed_work_tree_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "left").touch()
    assert main(["0.2.0"]) == 2
    assert capsys.readouterr().err == "the work tree is not clean:\n?? left\n"


def test_without_news_there_is_no_version(root: Path) -> None:
    git(root, "rm", "--quiet", "newsfragments/1.feature.md")
    git(root, "commit", "--quiet", "--message", "Tell nothing")
    with pytest.raises(VersionRefused, match="there is nothing to tell"):
        check(root, "0.2.0")


def test_what_fails_later_is_taken_back(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    assert main(["0.2.0"]) == 1
    assert "nothing has changed: git commit" in capsys.readouterr().err
    assert git(root, "status", "--porcelain") == ""
    assert list(unfinished(root))[1:] == ["newsfragments has 1 files that are in no entry"]
