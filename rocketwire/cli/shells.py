"""What bash, zsh and fish ask while a line is typed, and the scripts that have them ask."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
)

from rocketwire.cli.run import COMPLETE

PROGRAM: Final = "rocketwire"
_BREAKS: Final = ":="
"""Bash makes words of these characters: HOST:PORT comes as three words."""


class _Bash(BashComplete):
    """Puts together again what bash took apart, and lets it write no blank after KEY=."""

    # As click's, and: compopt -o nospace.
    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local response type value

    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete $1)

    for completion in $response; do
        IFS=',' read type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
            [[ $value == *= ]] && compopt -o nospace
        fi
    done

    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and that one."""
        words, incomplete = super().get_completion_args()
        *before, last = _joined([*words, incomplete])
        return before, last


def _joined(words: list[str]) -> list[str]:
    found: list[str] = []
    after_break = False
    for word in words:
        is_break = bool(word) and not word.strip(_BREAKS)
        if found and (is_break or after_break):
            found[-1] += word
        else:
            found.append(word)
        after_break = is_break
    return found


_CLASSES: Final[dict[str, type[ShellComplete]]] = {"bash": _Bash, "zsh": ZshComplete, "fish": FishComplete}


def complete(program: click.Command, instruction: str) -> int:
    """Answer a shell that asks for completions, or for its script; the exit code."""
    add_completion_class(_Bash)
    return shell_complete(program, {}, PROGRAM, COMPLETE, instruction)


def script(program: click.Command, shell: str) -> str:
    """The script that has a shell ask."""
    return _CLASSES[shell](program, {}, PROGRAM, COMPLETE).source()
