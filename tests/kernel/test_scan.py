"""Where there is no SSE2, text is looked at by words of 8 bytes: the tests of what reads text pass with those too."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.build_kernel import ROOT, build

HERE = Path(__file__).parent
READERS = ("test_headers.py", "test_requests.py")


@pytest.mark.slow
def test_words_do_what_vectors_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # sanitizers are for the kernel that runs here
    kernel = build(cc="cc -DROCKETWIRE_PORTABLE", out=tmp_path / "_kernel.abi3.so", strict=True)
    monkeypatch.setenv("ROCKETWIRE_KERNEL", str(kernel))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(HERE / name) for name in READERS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
