"""`rocketwire completion`: the script by which a shell completes commands, options and names."""

from __future__ import annotations

from typing import Final

import click

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
def command(shell: str) -> None:
    """Print the script by which a shell completes what is typed of a line of this program."""
    from rocketwire.cli.program import program
    from rocketwire.cli.shells import script

    print(script(program, shell))
