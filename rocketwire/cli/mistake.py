"""The error for a wrong command line, setting or file of the user."""

EXIT_CODE = 2
"""The exit code for a wrong option, setting or file, which the user has to correct."""


class Mistake(Exception):
    """One line for the user, printed on stderr without a traceback."""
