"""Whether the C kernel runs: `kernel` is the module `rocketwire._kernel`, or None where its Python twin does the work.

It is None where no kernel was built (no C compiler was there). The environment's `ROCKETWIRE_KERNEL` may say more:
`python` wants the twin, `native` makes a missing kernel an ImportError, and the path of a `.so` file is loaded in place
of the one that is installed (the one with sanitizers in it, say).
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Final

_MODULE: Final = "rocketwire._kernel"


def load(wanted: str | None) -> ModuleType | None:
    """The kernel, or None; `wanted` is what the environment says.

    Raises:
        ImportError: a kernel is wanted and there is none.
    """
    if wanted == "python":
        return None
    if wanted is not None and wanted.endswith(".so"):
        return _from_file(wanted)
    try:
        return import_module(_MODULE)
    except ImportError:
        if wanted == "native":
            raise
        return None


def _from_file(path: str) -> ModuleType:
    spec = spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[_MODULE] = module
    return module


kernel: Final = load(os.environ.get("ROCKETWIRE_KERNEL"))


def name() -> str:
    """Which of the two runs: `native` or `python`."""
    return "python" if kernel is None else "native"
