"""Running one command, in this process or in a separate one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from rocketwire.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """`rocketwire store` in this process."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, *arguments: object) -> Ran:
        code = main(["store", *map(str, arguments)])
        out, err = self._captured.readouterr()
        return Ran(code, out, err)


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """`rocketwire store` in a separate process."""
    program = [sys.executable, "-m", "rocketwire", "store", *map(str, arguments)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
