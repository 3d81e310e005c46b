"""Groups of commands whose modules are imported when they run, so that `--help` and the start stay fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group of commands in modules; a module of one command names it `command`.

    `modules` maps a command's name to its module, with `:` and the command's own name in a module of several, and the
    line that `--help` of the group shows for it. `aliases` maps further names, which neither help nor completion shows,
    to commands.
    """

    def __init__(
        self,
        *settings: Any,  # noqa: ANN401 - an argument
        modules: Mapping[str, tuple[str, str]],
        aliases: Mapping[str, str] = MappingProxyType({}),
        **more: Any,  # noqa: ANN401 - an argument
    ) -> None:
        super().__init__(*settings, **more)
        self._modules = modules
        self._aliases = aliases

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments.

        Raises:
            UsageError: there are none.
        """
        if not args and not ctx.resilient_parsing:
            ctx.fail(f"a COMMAND is missing; {ctx.command_path} --help lists them")
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order of `modules`."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click calls it
        """The command of a name, imported; None if there is none."""
        name = self._aliases.get(cmd_name, cmd_name)
        if name not in self._modules:
            return None
        module, _, attribute = self._modules[name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute or "command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that arguments name.

        Raises:
            UsageError: there is none; the error names the nearest one.
        """
        if args[0] not in {*self._modules, *self._aliases} and not args[0].startswith("-"):
            from rocketwire.server.config.nearest import suggestion

            ctx.fail(f"unknown command {args[0]}{suggestion(args[0], self._modules)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands and options that begin so; no command is imported."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=line) for name, (_, line) in self._modules.items()]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(each for each in found if each.value.startswith(incomplete)), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click calls it
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._modules.items()])


def lazy_group(
    package: str,
    help: str,  # noqa: A002 - click's name
    modules: Sequence[tuple[str, str, str]],
    *,
    name: str | None = None,
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> LazyGroup:
    """A group of (name, module, line of help), with aliases; a module without a dot is one of the package.

    It is named as the package is, unless there is a name.
    """
    name = name or package.rpartition(".")[2]
    found = {each: (module if "." in module else f"{package}.{module}", line) for each, module, line in modules}
    return LazyGroup(name=name, help=help, modules=found, aliases=aliases)
