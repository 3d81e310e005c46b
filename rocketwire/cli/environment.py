"""The environment variables of `rocketwire serve` and `rocketwire proxy`, for containers and service managers.

Each option has one: `--log-level` of `serve` is `ROCKETWIRE_SERVE_LOG_LEVEL`. So has each key of broker.conf, with the
key as it is written there: `ROCKETWIRE_SET_autoCreateTopicEnable`. An empty variable counts as not set, so that a
template may leave it empty.
"""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Collection, Mapping
from typing import Final

import click

from rocketwire.cli.errors import CommandError
from rocketwire.cli.output import warn

_KEYS: Final = "ROCKETWIRE_SET_"


def with_variables(command: click.Command) -> click.Command:
    """The command, each of its options with its variable, but `--set`: its keys have theirs."""
    for option in command.params:
        name = max(option.opts, key=len)
        if isinstance(option, click.Option) and name != "--set":
            option.envvar = _prefix(command) + name.removeprefix("--").replace("-", "_").upper()
    return command


def _prefix(command: click.Command) -> str:
    return f"ROCKETWIRE_{str(command.name).upper()}_"


def check_options(command: click.Command, environment: Mapping[str, str]) -> None:
    """Check that each variable of an option is that of one.

    Raises:
        Mistake: it is not; the text names the nearest.
    """
    prefix = _prefix(command)
    known = [str(option.envvar) for option in command.params if option.envvar]
    for name in sorted(environment):
        if name.startswith(prefix) and environment[name] and name not in known:
            from rocketwire.server.config.nearest import suggestion

            raise CommandError(f"{name}: no option has this variable{suggestion(name, known)}")


def settings_of(environment: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """The settings whose variables are set; `known` are the keys that there are.

    Raises:
        Mistake: a variable of an unknown key; the text names the nearest.
    """
    settings = {}
    for name in sorted(environment):
        if name.startswith(_KEYS) and environment[name]:
            key = name.removeprefix(_KEYS)
            if key not in known:
                from rocketwire.server.config.nearest import suggestion

                # AUTO_CREATE_TOPIC_ENABLE is near to no key, but without its underscores.
                raise CommandError(f"{name}: unknown key{suggestion(key.replace('_', ''), known)}")
            settings[key] = environment[name]
    return settings


MOST_BYTES: Final = 1 << 20
"""The most that a settings file has."""
NO_WRITER_SECONDS: Final = 1.0
"""So long a pipe may have no writer."""
SILENCE_SECONDS: Final = 10.0
"""So long a writer may take until the end."""
_SAY_AFTER_SECONDS: Final = 1.5
_PAUSE: Final = 0.02


def read_settings_file(option: str, path: str) -> bytes:
    """The content of a file, or what is written to a pipe until it is closed.

    Raises:
        Mistake: it cannot be read, is too long, or has no end.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return _read(
                fd, CommandError(f"{option} {path}: longer than {MOST_BYTES} bytes, so it is no settings file")
            )
        finally:
            os.close(fd)
    except TimeoutError as error:
        raise CommandError(f"{option} {path}: {error}") from error
    except OSError as error:
        raise CommandError(f"{option} {path}: {error.strerror}") from error


def _read(fd: int, too_long: CommandError) -> bytes:
    found = bytearray()
    is_pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
    wait = _Wait(fd)
    while len(found) <= MOST_BYTES:
        try:
            data = os.read(fd, MOST_BYTES + 1 - len(found))
        except BlockingIOError:
            data = None
        if data:
            found += data
        elif data is not None and (found or wait.had_writer or not is_pipe):
            return bytes(found)
        else:
            wait.once(is_open=data is None)
    raise too_long


class _Wait:
    """The waits for the writer of one pipe, or of a terminal.

    Attributes:
        had_writer: Whether one has had it open.
    """

    def __init__(self, fd: int) -> None:
        self.had_writer = False
        self._fd = fd
        self._began = time.monotonic()
        self._warned = False

    def once(self, *, is_open: bool) -> None:
        """Wait a little.

        Raises:
            TimeoutError: it took too long.
        """
        self.had_writer |= is_open
        waited = time.monotonic() - self._began
        if not is_open and waited >= NO_WRITER_SECONDS:
            raise TimeoutError(f"nobody writes to it ({NO_WRITER_SECONDS:g} s)")
        if is_open and waited >= SILENCE_SECONDS:
            raise TimeoutError(f"it was not closed within {SILENCE_SECONDS:g} s")
        if waited >= _SAY_AFTER_SECONDS and not self._warned:
            self._warned = True
            warn("waiting for the settings file to end")
        if is_open:
            select.select([self._fd], [], [], _PAUSE)
        else:
            time.sleep(_PAUSE)
