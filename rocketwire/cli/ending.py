"""How a command that prints much ends: with its exit code, or quietly when nobody reads on or the user stops it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Final

from rocketwire.cli.mistake import Mistake
from rocketwire.cli.name_server import NEED_CREDENTIALS

DAMAGED: Final = 1
"""Exit code: something could not be read, and stderr says what."""
PIPE_CLOSED: Final = 141
"""Exit code when the reader of stdout went away, as a shell shows it for a program that SIGPIPE ended."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""

Run = Callable[[argparse.Namespace], int]


def ended(run: Run) -> Run:
    """The same command, whose output is written out at its end; errors of store, wire and endpoints become one line."""

    def guarded(options: argparse.Namespace) -> int:
        try:
            return _carried_out(run, options)
        except KeyboardInterrupt:
            try:
                sys.stdout.flush()
            except OSError:
                # Ctrl-C stopped the reader of the output as well.
                _forget_output()
            return INTERRUPTED

    return guarded


def _carried_out(run: Run, options: argparse.Namespace) -> int:
    from rocketwire.remoting.errors import AccessDenied, RemotingError
    from rocketwire.store.errors import StoreError
    from rocketwire.wire.errors import WireError

    if sys.stdout is None:
        raise Mistake("the output cannot be written: it is closed")
    for stream in (sys.stdout, sys.stderr):
        # A name that is no UTF-8 is shown with escapes; it must not end the program.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        code = run(options)
        sys.stdout.flush()
    except AccessDenied as error:
        raise Mistake(f"{error}: {NEED_CREDENTIALS}" if error.unsigned else str(error)) from error
    except (StoreError, WireError, RemotingError) as error:
        raise Mistake(str(error)) from error
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except OSError as error:
        _forget_output()
        raise Mistake(f"{error.filename or 'the output'} cannot be written: {error.strerror}") from error
    return code


def _forget_output() -> None:
    """Let what is still buffered be written to nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
