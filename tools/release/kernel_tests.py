"""Run the kernel's own tests with the kernel of a wheel, such as one for another processor under emulation.

    python -m tools.release.kernel_tests WHEEL [--python COMMAND] [OPTIONS AND FILES FOR PYTEST]

The tests are those of this repository, and so are the Python sources; what they import must be installed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

KERNEL: Final = "rocketwire/_kernel.abi3.so"


def run(wheel: Path, python: Sequence[str], options: Sequence[str]) -> int:
    """Run the tests.

    Args:
        wheel: It has a kernel.
        python: The command that runs Python.
        options: More of pytest's options, and which tests; all of tests/kernel where there are none.

    Returns:
        The exit code of pytest.

    Raises:
        KeyError: the wheel has no kernel.
    """
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        with zipfile.ZipFile(wheel) as archive:
            kernel = archive.extract(KERNEL, folder)
        settings = os.environ | {"ROCKETWIRE_KERNEL": kernel}
        command = [*python, "-m", "pytest", "-q", "-m", "not slow", *(options or ["tests/kernel"])]
        return subprocess.run(command, env=settings, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests with the command line's options and return the exit code of pytest."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release.kernel_tests",
        description="Run tests/kernel with the kernel of a wheel.",
        epilog="Example: python -m tools.release.kernel_tests dist/release/NAME.whl "
        "--python 'qemu-aarch64-static -L ROOT ROOT/usr/bin/python3'",
    )
    parser.add_argument("wheel", type=Path, help="the wheel whose kernel is tested")
    parser.add_argument("--python", default=sys.executable, help="the command that runs Python (default: this one)")
    options, more = parser.parse_known_args(arguments)
    return run(options.wheel, shlex.split(options.python), more)


if __name__ == "__main__":
    sys.exit(main())
