"""The tests of the README that use `rocketwire.testing`, run by pytest as they are printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.readme import ROOT, environment, printed

pytestmark = pytest.mark.usefixtures("only_rocketwire")


def test_an_application_is_tested(tmp_path: Path) -> None:
    with_pytest = printed("Test an application 1")
    with_trio = printed("Test an application 2")
    (tmp_path / "test_pytest.py").write_text(with_pytest)
    (tmp_path / "test_trio.py").write_text(with_trio)
    (tmp_path / "pytest.ini").touch()  # no settings: each test has what it needs
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "rocketwire.testing.pytest_plugin", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "2 passed" in ran.stdout, ran.stdout
