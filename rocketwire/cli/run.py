"""Running one command: its exit code, and one line on stderr for every way to fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

import click

from rocketwire.cli.errors import WRONG_USE, CommandError, CommandFailed, Unreachable
from rocketwire.cli.terminal import escaping_terminals

PIPE_CLOSED: Final = 141
"""Exit code when the reader of stdout closed it, as a shell shows it for a program that SIGPIPE ended."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""
COMPLETE: Final = "_ROCKETWIRE_COMPLETE"
"""The variable by which a shell requests completions."""
_WITHOUT_OUTPUT: Final = "serve"
"""This command also works where stdout is closed."""


def run(program: click.Command, arguments: Sequence[str]) -> int:
    """Run a command and return its exit code, which is what its function returns; None counts as 0.

    Its output is flushed at its end. Errors of the store, the protocol and endpoints become one line.
    """
    with escaping_terminals():
        return _code_of(program, arguments)


def _code_of(program: click.Command, arguments: Sequence[str]) -> int:
    try:
        _need_output(arguments)
        return _ended(lambda: _invoked(program, list(arguments)))
    except click.UsageError as error:
        _print_usage(error)
        return WRONG_USE
    except CommandError as mistake:
        print(f"rocketwire: {mistake}", file=sys.stderr)
        return mistake.exit_code


def _need_output(arguments: Sequence[str]) -> None:
    if sys.stdout is None and list(arguments[:1]) != [_WITHOUT_OUTPUT]:
        raise CommandError("the output cannot be written: it is closed")


def _invoked(program: click.Command, arguments: list[str]) -> int:
    # Not click's own main: it has other exit codes for closed pipes and Ctrl-C.
    if COMPLETE in os.environ:
        from rocketwire.cli.shells import complete

        return complete(program, os.environ[COMPLETE])
    try:
        with program.make_context("rocketwire", arguments) as context:
            return program.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code


def _print_usage(error: click.UsageError) -> None:
    """The usage of the command that a wrong line is about, and what is wrong with it."""
    where = "rocketwire"
    if error.ctx is not None:
        where = error.ctx.command_path
        print(error.ctx.get_usage(), file=sys.stderr)
    print(f"{where}: error: {_message(error)}", file=sys.stderr)


def _message(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        from rocketwire.server.config.nearest import suggestion

        options = [] if error.ctx is None else error.ctx.command.get_params(error.ctx)
        known = [name for each in options for name in each.opts if name.startswith("--")]
        return f"unknown option {error.option_name}{suggestion(error.option_name, known)}"
    message = error.format_message().rstrip(".")
    return message[:1].lower() + message[1:]


def _ended(command: Callable[[], int]) -> int:
    try:
        return _flushed(command)
    except KeyboardInterrupt:
        try:
            sys.stdout.flush()
        except OSError:
            # Ctrl-C also stopped the reader of the output.
            _forget_output()
        return INTERRUPTED


def _flushed(command: Callable[[], int]) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A name that is not UTF-8 is shown with escapes; it must not end the program.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        code = command()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except OSError as error:
        _forget_output()
        raise CommandError(f"{error.filename or 'the output'} cannot be written: {error.strerror}") from error
    except (click.ClickException, CommandError):
        raise
    except Exception as error:
        mistake = _mistake(error)
        if mistake is None:
            raise
        raise mistake from error
    return code


def _mistake(error: Exception) -> CommandError | None:
    """The message to the user about an error of a store, the protocol, an endpoint or a recording; None for others."""
    # Imported here, since most commands end well, and the server's start must be fast.
    from rocketwire.capture.errors import CaptureError
    from rocketwire.cli.online import NEED_CREDENTIALS
    from rocketwire.remoting.errors import AccessDenied, NoBroker, NoSuchTopic, NotReached, Refused, RemotingError
    from rocketwire.store.errors import StoreError
    from rocketwire.wire.errors import WireError

    if isinstance(error, AccessDenied):
        return CommandError(f"{error}: {NEED_CREDENTIALS}" if error.unsigned else str(error))
    if isinstance(error, (NoBroker, NotReached)):
        return Unreachable(str(error))
    if isinstance(error, (NoSuchTopic, Refused, WireError)):
        return CommandFailed(str(error))
    if isinstance(error, (CaptureError, StoreError, RemotingError)):
        return CommandError(str(error))
    return None


def _forget_output() -> None:
    """Redirect stdout to /dev/null, so that the interpreter's exit flushes its buffer there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
