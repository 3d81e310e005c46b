"""The error of a command line that cannot be carried out as it was given."""

EXIT_CODE = 2
"""What the program returns then: an option, a setting or a file is the user's to put right."""


class Mistake(Exception):
    """One line for the user, printed on stderr without a traceback."""
