"""Sending no faster than so many messages a second."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from rocketwire.cli.errors import CommandError

T = TypeVar("T")
_RATE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(?:/(s|m|h))?")
_SECONDS: Final = {None: 1, "s": 1, "m": 60, "h": 3600}
_WORTH_A_PAUSE: Final = 0.01


def rate(option: str, text: str) -> float:
    """Messages a second, from `100`, `100/s`, `30/m` or `1/h`.

    Raises:
        Mistake: the text is none of these.
    """
    match = _RATE.fullmatch(text)
    if match is None or float(match[1]) == 0:
        raise CommandError(f"{option} {text}: expected a number of messages a second, or such as 30/m or 1/h")
    return float(match[1]) / _SECONDS[match[2]]


def paced(messages: Iterable[T | None], per_second: float) -> Iterator[T | None]:
    """The messages, each when it is due; None before a longer wait."""
    began, count = time.monotonic(), 0
    for each in messages:
        if each is not None:
            ahead = began + count / per_second - time.monotonic()
            count += 1
            if ahead > _WORTH_A_PAUSE:
                yield None
                time.sleep(max(0.0, began + (count - 1) / per_second - time.monotonic()))
        yield each
