"""Options of a file system, which are text, as the keyword arguments that its implementation takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

_NUMBERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "connect_timeout": float,
    "request_timeout": float,
    "load_frequency": int,
    "port": int,
    "buffer_size": int,
    "retry_time_limit": lambda text: timedelta(seconds=float(text)),
}


def arguments(options: Mapping[str, str]) -> dict[str, Any]:
    """Options by name: numbers where one is due, true and false, JSON objects, else text.

    Raises:
        ValueError: a value is invalid.
    """
    found: dict[str, Any] = {}
    for name, text in options.items():
        if name in _NUMBERS:
            found[name] = _NUMBERS[name](text)
        elif text.lower() in {"true", "false"}:
            found[name] = text.lower() == "true"
        else:
            found[name] = json.loads(text) if text.startswith("{") else text
    return found
