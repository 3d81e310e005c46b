"""Runs tests with the kernel compiled for AddressSanitizer and UBSan: `python -m tools.sanitize tests/kernel`.

Whatever they find ends the process and so the tests. The sanitizers' library must come first of all in the process,
hence LD_PRELOAD, and C++'s with it, for modules whose exceptions it looks at. Python's own allocator is switched off,
so that each bytes object has guards around it. Leaks are not looked for: the interpreter itself leaves memory behind
when it ends. gcc and Linux only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools import build_kernel

SANITIZERS: Final = "address,undefined"
PRODUCT: Final = build_kernel.ROOT / "build" / "kernel" / "sanitized" / build_kernel.PRODUCT.name


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
    asked = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: list[str]) -> int:
    """Build, then run pytest with the arguments; its exit code."""
    try:
        kernel = build_kernel.build(cc="gcc", out=PRODUCT, sanitize=SANITIZERS, strict=True)
    except build_kernel.BuildFailed as failed:
        print(f"no kernel: {failed}", file=sys.stderr)
        return 1
    # Captured by descriptor, a report would be lost with the process that wrote it.
    run = [sys.executable, "-m", "pytest", "--capture=sys", *arguments]
    return subprocess.run(run, env=environment(kernel), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
