"""The kernel that is tested is the one of the wheel."""

import sys
import zipfile
from pathlib import Path

import pytest

from tools.release.kernel_tests import KERNEL, main


def test_pytest_runs_with_the_kernel_of_the_wheel(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(KERNEL, "the kernel")
    program = tmp_path / "python"
    program.write_text('cat "$ROCKETWIRE_KERNEL"; echo ":" "$@"; exit 3\n', encoding="utf-8")
    assert main([str(wheel), "--python", f"sh {program}"]) == 3
    assert capfd.readouterr().out == "the kernel: -m pytest -q -m not slow tests/kernel\n"
    assert main([str(wheel), "--python", f"sh {program}", "-x", "tests/kernel/wire"]) == 3
    assert capfd.readouterr().out == "the kernel: -m pytest -q -m not slow -x tests/kernel/wire\n"


def test_a_wheel_without_a_kernel_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pure.whl", "w"):
        pass
    with pytest.raises(KeyError, match="_kernel"):
        main([str(tmp_path / "pure.whl"), "--python", sys.executable])
