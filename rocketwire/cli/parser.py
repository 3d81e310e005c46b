"""The parser of all commands: it refuses abbreviations, and names the nearest command or option for a mistyped one."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, Never


class Parser(argparse.ArgumentParser):
    """Also the class of the parsers that `add_subparsers` makes."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of argparse
        super().__init__(allow_abbrev=False, **settings)

    def parse_known_args(  # type: ignore[override]  # the overloads of argparse are about other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse all arguments: each parser reports its own unknown ones, with its own usage."""
        if args is not None and self._subparsers is None:
            # Before argparse says that the option is missing which is mistyped here.
            self._refuse_unknown(args)
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse_unknown(unknown)
            self.error("unexpected: " + " ".join(unknown))
        return options, []

    def _refuse_unknown(self, arguments: Sequence[str]) -> None:
        for argument in arguments:
            if argument == "--":
                return
            option = argument.partition("=")[0]
            # argparse takes an argument with a blank in it for a value.
            if argument.startswith("--") and " " not in argument and option not in self._option_string_actions:
                self._refuse("option", option, [each for each in self._option_string_actions if each.startswith("--")])

    def _refuse(self, what: str, text: str, known: Iterable[str]) -> Never:
        from rocketwire.server.config.nearest import suggestion

        self.error(f"unknown {what} {text}{suggestion(text, known)}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - as argparse has it
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:  # noqa: SLF001
            self._refuse("command", value, action.choices)
        super()._check_value(action, value)
