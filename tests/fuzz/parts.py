"""The parts of the fuzzing by name; each is imported when it is used, traced or not."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tests.fuzz.part import Part

NAMES: Final = (
    "bodies",
    "headers",
    "properties",
    "records",
    "filters",
    "settings",
    "faults",
    "http",
    "http2",
    "tls",
    "acl",
    "grpc",
    "sessions",
    "upstream",
)


def part(name: str) -> Part:
    """The part of that name."""
    found: Part = import_module(f"tests.fuzz.{name}").PART
    return found
