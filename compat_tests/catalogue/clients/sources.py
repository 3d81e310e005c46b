"""Digests of the sources of the clients' programs: what is built from the same sources is not built again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rocketwire.compat.environment import image


def files_of(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a folder with one of these suffixes, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in suffixes)


def digest(files: Iterable[Path], *more: str) -> str:
    """A digest of the names and contents of files, and of `more`."""
    parts = [path.name.encode() + b"\0" + path.read_bytes() for path in files]
    return image.digest([*parts, *(text.encode() for text in more)])
