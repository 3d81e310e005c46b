import runpy
import subprocess
import sys

import pytest

import rocketwire
from rocketwire import native
from rocketwire.cli import main

VERSION = f"rocketwire {rocketwire.__version__} (kernel: {native.name()})\n"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == VERSION


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_a_mistake_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--set", "flushDiskType=SYNC"]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == "rocketwire: flushDiskType=SYNC: allowed is ASYNC_FLUSH or SYNC_FLUSH\n"


def test_the_package_runs_as_a_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["rocketwire", "--version"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("rocketwire", run_name="__main__")
    assert stopped.value.code == 0
    assert capsys.readouterr().out == VERSION


def test_the_command_line_imports_nothing_heavy() -> None:
    loaded = "import sys, rocketwire.cli; print([m for m in ('trio', 'numpy', 'construct') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=240)
    assert ran.stdout == "[]\n"
