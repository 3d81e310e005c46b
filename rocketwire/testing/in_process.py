"""The server as a task of this process, on trio."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import click
import trio
from anyio.abc import TaskGroup, TaskStatus

from rocketwire.cli.errors import CommandError
from rocketwire.cli.serve import ServeOptions, command, configuration
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.core.clocks.clock import system_clock
from rocketwire.server.serving import serve
from rocketwire.testing.errors import NotInProcess, NotStarted


class InProcess:
    """One server after the other, with the same configuration.

    Args:
        arguments: Of `rocketwire serve`.
        tasks: Where it runs; the server needs trio.

    Raises:
        NotStarted: the arguments are wrong.
        NotInProcess: the event loop is not trio's.
    """

    def __init__(self, arguments: Sequence[str], tasks: TaskGroup) -> None:
        try:
            trio.lowlevel.current_trio_token()
        except RuntimeError:
            raise NotInProcess("a server within this process needs trio: leave in_process out") from None
        self._config = _configuration(arguments)
        self._tasks = tasks
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._ended.set()

    @property
    def pid(self) -> int | None:
        """It has no separate process."""
        return None

    async def start(self) -> None:
        """Start it, unless it runs; returns when it is ready.

        Raises:
            NotStarted: it cannot run.
        """
        if self._ended.is_set():
            try:
                await self._tasks.start(self._serve)
            except Exception as error:
                raise NotStarted(f"the server did not become ready: {_leaf(error)}") from error

    async def _serve(self, task_status: TaskStatus[None]) -> None:
        self._scope, self._ended = trio.CancelScope(), trio.Event()
        try:
            with self._scope:
                await serve(
                    self._config,
                    clock=system_clock,
                    choose=secrets.randbelow,
                    run_sync=trio.to_thread.run_sync,
                    ready=lambda _: task_status.started(),
                )
        finally:
            self._ended.set()

    async def stop(self) -> None:
        """Stop it cleanly, if it runs."""
        self._scope.cancel()
        await self._ended.wait()

    async def kill(self) -> None:
        """It cannot be killed alone.

        Raises:
            NotInProcess: always.
        """
        raise NotInProcess("an endpoint within this process cannot be killed: leave in_process out")


def _configuration(arguments: Sequence[str]) -> ServerConfig:
    try:
        options = ServeOptions(**command.make_context("serve", list(arguments)).params)
        return configuration(options, warn=lambda _: None)
    except (CommandError, click.UsageError) as error:
        raise NotStarted(str(error)) from error


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
