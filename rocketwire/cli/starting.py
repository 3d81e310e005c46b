"""What the commands have in common that start a server, and run until it is stopped."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from rocketwire.cli.environment import check_options
from rocketwire.cli.errors import CommandError

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])


def log_options(command: F) -> F:
    """Give a command the options of the log."""
    form = click.option(
        "--log-format",
        type=click.Choice(["console", "json"]),
        default="console",
        show_default=True,
        help="Lines for people, or a JSON object a line.",
    )
    level = click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="What is logged, and what is worse.",
    )
    return form(level(command))


def started(
    command: click.Command,
    log_format: str,
    log_level: str,
    configured: Callable[[Callable[[str], None], Mapping[str, str]], C],
    run: Callable[[C], int],
    *,
    log_name: str | None = None,
) -> int:
    """Start the log, configure, and run; the exit code.

    Args:
        command: Whose environment variables are checked.
        log_format: The value of `--log-format`.
        log_level: The value of `--log-level`.
        configured: Makes the configuration from what it is given for warnings and the environment; raises Mistake.
        run: Runs until stopped.
        log_name: Stands in each line of the log; None: nothing does.
    """
    # Until the server is ready: there is no garbage to speak of, and looking for it takes a tenth of the start.
    gc.disable()
    try:
        return _started(command, log_format, log_level, configured, run, log_name=log_name)
    finally:
        gc.enable()


def _started(
    command: click.Command,
    log_format: str,
    log_level: str,
    configured: Callable[[Callable[[str], None], Mapping[str, str]], C],
    run: Callable[[C], int],
    *,
    log_name: str | None = None,
) -> int:
    from rocketwire.server.core.logs import log_startup_error, start_logging

    start_logging(log_format, log_level, log_name)
    try:
        check_options(command, os.environ)
        config = configured(
            lambda line: log_startup_error(log_format, line, event="setting without effect", level=logging.WARNING),
            os.environ,
        )
    except CommandError as mistake:
        log_startup_error(log_format, str(mistake), event="wrong use")
        return mistake.exit_code
    return run(config)
