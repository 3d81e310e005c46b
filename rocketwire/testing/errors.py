"""What can go wrong with an endpoint for tests, besides the errors of its client (`rocketwire.remoting.errors`)."""

from __future__ import annotations


class TestingError(Exception):
    """Base of these errors."""

    __test__ = False  # pytest takes classes called Test... for tests


class NotStarted(TestingError):
    """The endpoint could not be started. Its text ends with the server's log."""


class ControlRefused(TestingError):
    """The endpoint refused a fault rule, or to move its clock. Its text describes what is allowed."""


class NotInProcess(TestingError):
    """An endpoint within this process cannot do this: it has no separate process."""
