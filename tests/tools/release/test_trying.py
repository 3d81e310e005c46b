"""How each file of a release is tried; `tox run -e release` tries real ones."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.tags import sys_tags

import rocketwire
from tools.release.build import ReleaseFailed, ReleaseFile
from tools.release.trying import fits_here, python_of, try_program

ROOT = Path(__file__).resolve().parents[3]
KERNEL = "native" if find_spec("rocketwire._kernel") else "python"


def test_a_program_is_tried_by_its_version_a_start_a_message_and_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    try_program([sys.executable, "-m", "rocketwire"], kernel=KERNEL, folder=tmp_path, messages=1)


def program(folder: Path, serve: str) -> list[str | Path]:
    """A program of the right version that does something else for `serve`."""
    script = folder / "program"
    version = f"rocketwire {rocketwire.__version__} (kernel: native)"
    script.write_text(f'[ "$1" = --version ] && echo "{version}" && exit\n{serve}\n', encoding="utf-8")
    return ["sh", script]


def test_another_kernel_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFailed, match=r"expected .*kernel: python.* got .*kernel: native"):
        try_program(program(tmp_path, ""), kernel="python", folder=tmp_path, messages=1)


def test_a_program_that_does_not_start_is_a_failure_with_its_log(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFailed, match="ended with 2: no such port"):
        try_program(program(tmp_path, "echo no such port >&2; exit 2"), kernel="native", folder=tmp_path, messages=1)


def test_a_program_that_does_not_stop_cleanly_is_a_failure(tmp_path: Path) -> None:
    serve = "trap 'exit 3' TERM; echo 'rocketwire ready: '; while :; do sleep 0.1; done"
    with pytest.raises(ReleaseFailed, match="ended with 3: rocketwire ready"):
        try_program(program(tmp_path, serve), kernel="native", folder=tmp_path, messages=1)


def test_a_program_that_takes_no_message_is_a_failure(tmp_path: Path) -> None:
    serve = """
        [ "$1" = topic ] && exit
        [ "$1" = message ] && echo no route >&2 && exit 1
        trap 'exit 0' TERM; echo 'rocketwire ready: name server 127.0.0.1:1'; while :; do sleep 0.1; done
    """
    with pytest.raises(ReleaseFailed, match="message send failed: no route"):
        try_program(program(tmp_path, serve), kernel="native", folder=tmp_path, messages=1)


def test_a_wheel_of_another_processor_does_not_fit_here() -> None:
    def wheel(platform: str) -> ReleaseFile:
        return ReleaseFile(path=Path(f"rocketwire-1.0.0-cp311-abi3-{platform}.whl"), kernel="native", platform=platform)

    assert not fits_here(wheel("manylinux_2_17_ppc64"))
    assert fits_here(wheel(next(sys_tags()).platform))
    assert fits_here(ReleaseFile(path=Path("rocketwire-1.0.0.tar.gz"), kernel="native"))


def test_a_python_is_one_of_that_version_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, says in (("python9.8", "9.8"), ("python9.7", "3.11")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {says}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert python_of("9.8") == tmp_path / "python9.8"
    assert python_of("9.7") is None
    assert python_of("9.6") is None
    assert python_of(f"{sys.version_info[0]}.{sys.version_info[1]}") == Path(sys.executable)
