"""Which of the two runs, the kernel or its Python twin."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rocketwire import native


def test_python_can_be_chosen() -> None:
    assert native.load("python") is None


def test_without_a_kernel_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rocketwire._kernel", None)
    assert native.load(None) is None


def test_a_required_kernel_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rocketwire._kernel", None)
    with pytest.raises(ImportError):
        native.load("native")


def test_an_existing_kernel_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ModuleType("rocketwire._kernel")
    monkeypatch.setitem(sys.modules, "rocketwire._kernel", stand_in)
    assert native.load(None) is stand_in


def test_a_kernel_may_be_named_by_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if native.kernel is None:
        with pytest.raises(ImportError):
            native.load(str(tmp_path / "missing.so"))
        return
    assert native.kernel.__file__ is not None
    copy = tmp_path / "other.abi3.so"
    copy.write_bytes(Path(native.kernel.__file__).read_bytes())
    monkeypatch.setitem(sys.modules, "rocketwire._kernel", native.kernel)  # puts it back afterwards
    loaded = native.load(str(copy))
    assert loaded is not None
    assert loaded.__file__ == str(copy)
    assert sys.modules["rocketwire._kernel"] is loaded


@pytest.mark.parametrize(("kernel", "name"), [(None, "python"), (ModuleType("kernel"), "native")])
def test_the_name_of_the_kernel(kernel: ModuleType | None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "kernel", kernel)
    assert native.name() == name


def test_the_environment_decides() -> None:
    command = [sys.executable, "-c", "from rocketwire import native; print(native.name())"]
    done = subprocess.run(command, env={"ROCKETWIRE_KERNEL": "python"}, capture_output=True, text=True, check=True)
    assert done.stdout == "python\n"
