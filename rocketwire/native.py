"""Whether the C kernel runs: `kernel` is the module `rocketwire._kernel`, or None where its Python twin does the work.

It is None where no kernel was built (no C compiler was there), and where the environment says
`ROCKETWIRE_KERNEL=python`. With `ROCKETWIRE_KERNEL=native` a missing kernel is an ImportError.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import Final


def load(wanted: str | None) -> ModuleType | None:
    """The kernel, or None; `wanted` is what the environment says.

    Raises:
        ImportError: `native` is wanted and there is no kernel.
    """
    if wanted == "python":
        return None
    try:
        return import_module("rocketwire._kernel")
    except ImportError:
        if wanted == "native":
            raise
        return None


kernel: Final = load(os.environ.get("ROCKETWIRE_KERNEL"))


def name() -> str:
    """Which of the two runs: `native` or `python`."""
    return "python" if kernel is None else "native"
