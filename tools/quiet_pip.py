"""Runs pip and prints a line for each step that takes long, instead of the hundred lines that pip has.

    python -m tools.quiet_pip PYTHON ARGUMENT...

PYTHON is that of an environment, ARGUMENTs are those of `pip install`. pip's output is printed only if it fails. It
runs before anything is installed, so it imports nothing but the standard library.
"""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Final

#: Seconds without a line until the last step is printed again.
SILENCE: Final = 10.0
#: Exit code after Ctrl-C, as shells have it.
INTERRUPTED: Final = 130
#: Smaller downloads are not printed.
_LEAST_BYTES: Final = 5e6
_UNITS: Final = {"bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_DOWNLOAD: Final = re.compile(r"\s*Downloading (?:\S+/)?(?P<file>\S+) \((?P<size>[\d.]+) (?P<unit>\w+)\)")
_BUILD: Final = re.compile(r"\s*Building (?:wheel|editable) for (?P<name>\S+)")
_INSTALL: Final = re.compile(r"\s*Installing collected packages: (?P<names>.+)")


def steps(lines: Iterable[str]) -> Iterator[str]:
    """The steps to print, from the lines of pip."""
    last = ""
    for line in lines:
        step = _step(line)
        if step and step != last:
            yield step
            last = step


def _step(line: str) -> str:
    if found := _DOWNLOAD.match(line):
        size, unit = float(found["size"]), found["unit"]
        return f"downloading {found['file']}, {size:g} {unit}" if size * _UNITS.get(unit, 0) >= _LEAST_BYTES else ""
    if found := _BUILD.match(line):
        return f"building {found['name']}"
    if found := _INSTALL.match(line):
        count = len(found["names"].split(","))
        return f"writing {count} packages" if count > 1 else f"writing {found['names'].strip()}"
    return ""


def run(command: Sequence[str], report: Callable[[str], None], *, silence: float = SILENCE) -> int:
    """Run a pip and report its steps; its output goes to stderr if it fails.

    Args:
        command: Its program and arguments.
        report: Gets each step.
        silence: Seconds without a step until the last one is reported again.

    Returns:
        Its exit code.
    """
    with subprocess.Popen(  # noqa: S603 - the command is the Makefile's
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None  # noqa: S101 - it is a pipe
        printed: list[str] = []
        came: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(pip.stdout, printed, came), daemon=True).start()
        last = "looking for what is needed"
        report(last)
        while True:
            try:
                step = came.get(timeout=silence)
            except queue.Empty:
                report(f"{last} …")
                continue
            if step is None:
                break
            report(step)
            last = step
    if pip.returncode:
        sys.stderr.writelines(printed)
    return pip.returncode


def _read(lines: IO[str], printed: list[str], came: queue.SimpleQueue[str | None]) -> None:
    def kept() -> Iterator[str]:
        for line in lines:
            printed.append(line)
            yield line

    try:
        for step in steps(kept()):
            came.put(step)
    finally:
        came.put(None)


def main(arguments: Sequence[str]) -> int:
    """Install; print each step with the seconds since the start."""
    python, *wanted = arguments
    began = time.monotonic()

    def report(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    command = [python, "-m", "pip", "install", "--progress-bar", "off", *wanted]
    try:
        code = run(command, report)
    except KeyboardInterrupt:
        report("stopped; the next start continues")
        return INTERRUPTED
    if not code:
        report("installed")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
