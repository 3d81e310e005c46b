"""What a part of the fuzzing is: something that reads what others write, and what must be true of any input."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

Check = Callable[[bytes], None]
"""Takes any bytes; raises whatever it may where something is not as it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of them.

    Attributes:
        opened: Gives what checks an input; it is closed at the end.
        seeds: What the fuzzer begins with, beside the corpus.
        words: What stands in such inputs; the fuzzer puts them in.
        longest: How many bytes an input may have.
    """

    opened: Callable[[], AbstractContextManager[Check]]
    seeds: Callable[[], Iterable[bytes]]
    words: Sequence[str | bytes]
    longest: int = 2000


def always(check: Check) -> Callable[[], AbstractContextManager[Check]]:
    """For a check that needs no set-up."""

    @contextmanager
    def opened() -> Iterator[Check]:
        yield check

    return opened


def chosen(among: Sequence[T], name: bytes, names: Sequence[str]) -> T:
    """The one of that name; for other names any, always the same."""
    text = name.decode(errors="replace")
    return among[names.index(text) if text in names else zlib.crc32(name) % len(among)]
