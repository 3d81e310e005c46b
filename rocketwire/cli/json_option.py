"""The option `--json`, which all commands that print have."""

from __future__ import annotations

from typing import Final

import click

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
