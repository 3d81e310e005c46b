"""The lines of pip that are printed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import quiet_pip

LINES = """\
Obtaining file:///src/rocketwire
  Installing build dependencies: started
Collecting pyspark<5,>=4.2 (from rocketwire==0.1.0)
  Downloading pyspark-4.3.0.tar.gz (457.1 MB)
Collecting click>=8.1
  Downloading click-8.3.1-py3-none-any.whl (108 kB)
Building wheels for collected packages: rocketwire, pyspark
  Building editable for rocketwire (pyproject.toml): started
  Building editable for rocketwire (pyproject.toml): finished with status 'done'
  Building wheel for pyspark (pyproject.toml): started
Installing collected packages: pyspark, click, rocketwire
Successfully installed click-8.3.1 pyspark-4.3.0 rocketwire-0.1.0
"""
STEPS = [
    "downloading pyspark-4.3.0.tar.gz, 457.1 MB",
    "building rocketwire",
    "building pyspark",
    "writing 3 packages",
]


def pip(folder: Path, text: str, ending: str) -> list[str]:
    """A program that prints what a pip does, and ends so."""
    program = folder / "pip.py"
    program.write_text(f"import sys, time\nprint({text!r}, end='', flush=True)\n{ending}\n", "utf-8")
    return [sys.executable, str(program)]


def test_long_steps_are_reported_once() -> None:
    assert list(quiet_pip.steps(LINES.splitlines(keepends=True))) == STEPS
    assert list(quiet_pip.steps(["Installing collected packages: click\n"])) == ["writing click"]


def test_a_pip_that_succeeds_prints_its_steps_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reported: list[str] = []
    assert quiet_pip.run(pip(tmp_path, LINES, ""), reported.append) == 0
    assert reported == ["looking for what is needed", *STEPS]
    assert capfd.readouterr() == ("", "")


def test_a_pip_that_fails_prints_all(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failing = "print('ERROR: no space', file=sys.stderr)\nsys.exit(3)"
    assert quiet_pip.run(pip(tmp_path, LINES, failing), lambda _: None) == 3
    assert capfd.readouterr().err == f"{LINES}ERROR: no space\n"


def test_silence_is_broken(tmp_path: Path) -> None:
    reported: list[str] = []
    waiting = pip(tmp_path, "  Downloading a-1.whl (6.0 MB)\n", "time.sleep(0.5)")
    assert quiet_pip.run(waiting, reported.append, silence=0.2) == 0
    assert "downloading a-1.whl, 6 MB" in reported
    assert "downloading a-1.whl, 6 MB …" in reported


def test_ctrl_c_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(quiet_pip, "run", interrupted)
    assert quiet_pip.main(["python", "x"]) == quiet_pip.INTERRUPTED
    assert capsys.readouterr().out == "    0 s  stopped; the next start continues\n"
