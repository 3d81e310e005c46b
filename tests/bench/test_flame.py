from pathlib import Path

import pytest

from bench import flame
from bench.flame import FLAMES, RecorderError, main
from bench.workloads import WORKLOADS


def test_every_graph_shows_a_workload() -> None:
    assert set(FLAMES.values()) <= {workload.name for workload in WORKLOADS}


def test_kept_stacks_are_drawn_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new-pull.raw").write_text("unrolled_run (trio/_core/_run.py:1);f (rocketwire/a.py:2) 7\n", "utf-8")
    assert main(["new", "pull", "--draw", "--stacks", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    svg = (tmp_path / "out" / "new-pull.svg").read_text("utf-8")
    assert "new: pull of 32 x 100 B, 4 x 2: 7 samples" in svg
    assert "f (rocketwire/a.py): 7 samples, 100.0%" in svg
    assert "new-pull.svg (" in capsys.readouterr().out


def test_what_there_is_no_graph_of_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "sync"]) == 2
    assert capsys.readouterr().err == "bench.flame: there are send, batch, pull, many\n"


def test_missing_stacks_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--draw", "--stacks", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_recorder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RecorderError, match="pip install py-spy"):
        flame._recorder()
