"""Endpoints for the tests of applications: a fresh name server and broker in a `with` block.

The names below are imported when they are used: pytest imports this package in every run, whatever it tests.

Begin with `block`, which makes an endpoint; `running` is the server behind it, `pytest_plugin` has the fixtures.
May import: every other part of rocketwire; nothing imports this one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rocketwire.testing.aio import AsyncEndpoint
    from rocketwire.testing.block import endpoint
    from rocketwire.testing.blocking import Endpoint
    from rocketwire.testing.control import Fault
    from rocketwire.testing.errors import ControlRefused, NotInProcess, NotStarted, TestingError

__all__ = [
    "AsyncEndpoint",
    "ControlRefused",
    "Endpoint",
    "Fault",
    "NotInProcess",
    "NotStarted",
    "TestingError",
    "endpoint",
]

_HOMES: Final = {
    "AsyncEndpoint": "aio",
    "ControlRefused": "errors",
    "Endpoint": "blocking",
    "Fault": "control",
    "NotInProcess": "errors",
    "NotStarted": "errors",
    "TestingError": "errors",
    "endpoint": "block",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whichever it is
    """Import a name at its first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
