"""The exit codes of all commands, and the errors that end a command with one line on stderr."""

from __future__ import annotations

from typing import ClassVar, Final

INCOMPLETE: Final = 1
"""Nothing was found, or not everything could be done: the endpoint refused, or something could not be read."""
WRONG_USE: Final = 2
"""A wrong command, option, setting, account or file, which the user has to correct."""
UNREACHABLE: Final = 3
"""An endpoint cannot be reached, or does not answer."""


class CommandError(Exception):
    """One line for the user, printed on stderr without a traceback."""

    exit_code: ClassVar[int] = WRONG_USE


class CommandFailed(CommandError):
    """The command line is right, but what it names is not there, or the endpoint refuses."""

    exit_code = INCOMPLETE


class NoSuchGroup(CommandFailed):
    """An endpoint has no such consumer group.

    Attributes:
        group: Its name.
    """

    def __init__(self, group: str, text: str) -> None:
        """Take the group's name, and the line for the user."""
        super().__init__(text)
        self.group = group


class Unreachable(CommandError):
    """No endpoint answers."""

    exit_code = UNREACHABLE
