"""Completion for bash, zsh and fish: `rocketwire completion`, and what a shell requests."""

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
    """Answer a shell that requests completions, or its script; the exit code."""
    add_completion_class(_Bash)
    return shell_complete(program, {}, PROGRAM, COMPLETE, instruction)


def script(program: click.Command, shell: str) -> str:
    """The script by which a shell requests completions."""
    return _CLASSES[shell](program, {}, PROGRAM, COMPLETE).source()


_SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
Commands, options, their values, settings of serve, files, and the topics and groups of the endpoint are completed. The
endpoint is the one that the line, the environment or a profile names; it gets one second to answer.

\b
To try it in this bash:
  source <(rocketwire completion bash)

\b
To install it for one user:
  bash, with the package bash-completion:
    folder=~/.local/share/bash-completion/completions; mkdir -p $folder
    rocketwire completion bash > $folder/rocketwire
  bash, without it:
    echo 'source <(rocketwire completion bash)' >> ~/.bashrc
  zsh, with "fpath+=~/.zfunc" before compinit in ~/.zshrc:
    mkdir -p ~/.zfunc; rocketwire completion zsh > ~/.zfunc/_rocketwire
  fish:
    rocketwire completion fish > ~/.config/fish/completions/rocketwire.fish

A new shell then completes. Bash has to be 4.4 or newer.
"""


@click.command("completion", epilog=_EPILOG)
@click.argument("shell", metavar="|".join(_SHELLS), type=click.Choice(_SHELLS))
def completion_command(shell: str) -> None:
    """Print the script by which a shell completes what is typed of a line of this program."""
    from rocketwire.cli.program import program

    print(script(program, shell))
