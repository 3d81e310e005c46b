"""Exit codes of commands with much output: errors, a closed pipe and Ctrl-C."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Final

from rocketwire.cli.mistake import INCOMPLETE, Mistake, Unreachable, Unsuccessful
from rocketwire.cli.name_server import NEED_CREDENTIALS

DAMAGED: Final = INCOMPLETE
"""Exit code: something could not be read; stderr has the details."""
PIPE_CLOSED: Final = 141
"""Exit code when the reader of stdout closed it, as a shell shows it for a program that SIGPIPE ended."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""

Run = Callable[[argparse.Namespace], int]


def ended(run: Run) -> Run:
    """Wrap a command: its output is flushed at its end; errors of store, wire and endpoints become one line."""

    def guarded(options: argparse.Namespace) -> int:
        try:
            return _carried_out(run, options)
        except KeyboardInterrupt:
            try:
                sys.stdout.flush()
            except OSError:
                # Ctrl-C also stopped the reader of the output.
                _forget_output()
            return INTERRUPTED

    return guarded


def _carried_out(run: Run, options: argparse.Namespace) -> int:
    from rocketwire.remoting.errors import AccessDenied, NoBroker, NoSuchTopic, NotReached, Refused, RemotingError
    from rocketwire.store.errors import StoreError
    from rocketwire.wire.errors import WireError

    if sys.stdout is None:
        raise Mistake("the output cannot be written: it is closed")
    for stream in (sys.stdout, sys.stderr):
        # A name that is not UTF-8 is shown with escapes; it must not end the program.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        code = run(options)
        sys.stdout.flush()
    except AccessDenied as error:
        raise Mistake(f"{error}: {NEED_CREDENTIALS}" if error.unsigned else str(error)) from error
    except (NoBroker, NotReached) as error:
        raise Unreachable(str(error)) from error
    except (NoSuchTopic, Refused, WireError) as error:
        raise Unsuccessful(str(error)) from error
    except (StoreError, RemotingError) as error:
        raise Mistake(str(error)) from error
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except OSError as error:
        _forget_output()
        raise Mistake(f"{error.filename or 'the output'} cannot be written: {error.strerror}") from error
    return code


def _forget_output() -> None:
    """Redirect stdout to /dev/null, so that the interpreter's exit flushes its buffer there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
