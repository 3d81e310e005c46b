"""Runs tests with the kernel compiled for AddressSanitizer and UBSan: `python -m tools.sanitize tests/kernel`.

Any finding ends the process and so the tests. The sanitizers' library must be loaded first, hence LD_PRELOAD, and C++'s
with it, for modules whose exceptions it intercepts. Python's own allocator is switched off, so that each bytes object
has guards around it. Leaks are not checked: the interpreter itself does not free all memory when it ends. gcc and Linux
only.

`--portable` before the other arguments compiles the code for processors other than x86-64.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools import build_kernel

_WORK: Final = build_kernel.ROOT / "build" / "kernel"


def build(*, portable: bool, trace: Path | None = None) -> Path:
    """Build a kernel with the sanitizers and return its path; `portable`: without code for x86-64 only.

    Raises:
        BuildFailed: there is no gcc, or it refused.
    """
    kind = f"{'portable' if portable else 'sanitized'}{'-traced' if trace else ''}"
    compiler = "gcc -DROCKETWIRE_PORTABLE" if portable else "gcc"
    product = _WORK / kind / build_kernel.PRODUCT.name
    return build_kernel.build(cc=compiler, out=product, sanitize="address,undefined", strict=True, trace=trace)


def environment(kernel: Path) -> dict[str, str]:
    """The environment in which a process runs a kernel that was built for the sanitizers."""
    return os.environ | {
        "LD_PRELOAD": f"{_library('libasan.so')} {_library('libstdc++.so.6')}",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "ROCKETWIRE_KERNEL": str(kernel),
    }


def _library(name: str) -> str:
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: list[str]) -> int:
    """Build, then run pytest with the arguments; its exit code."""
    portable = arguments[:1] == ["--portable"]
    try:
        kernel = build(portable=portable)
    except build_kernel.BuildFailed as failed:
        print(f"no kernel: {failed}", file=sys.stderr)
        return 1
    # Captured by descriptor, a report would be lost with the process that wrote it.
    run = [sys.executable, "-m", "pytest", "--capture=sys", *arguments[portable:]]
    return subprocess.run(run, env=environment(kernel), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
