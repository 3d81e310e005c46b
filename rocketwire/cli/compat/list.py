"""`rocketwire compat list`: the catalogue, and which clients can run on this machine."""

from __future__ import annotations

from typing import Any, Final

import click

from rocketwire.cli.output import count_of, json_option
from rocketwire.cli.table import TableColumn, print_rows

_EPILOG: Final = """\
\b
Examples:
  rocketwire compat list                # all scenarios
  rocketwire compat list --features     # how many each feature has
  rocketwire compat list --clients      # and what each lacks here
  rocketwire compat list --json         # what they prove, and its source
"""


@click.command("list", epilog=_EPILOG)
@click.option("--features", "what", flag_value="features", help="The features, with their numbers of scenarios.")
@click.option("--clients", "what", flag_value="clients", help="The clients, and what they need that is missing here.")
@json_option
def command(*, what: str | None, as_json: bool) -> int:
    """Print the scenarios, one a line, or the features or clients."""
    columns: tuple[TableColumn, ...]
    rows = {"features": _features, "clients": _clients}.get(what or "", _scenarios)()
    if what == "clients":
        columns = (
            TableColumn("CLIENT", of="id"),
            TableColumn("NAME", of="name", least=12),
            TableColumn("WHERE", of=lambda row: ", ".join(row["where"]), least=6),
            TableColumn("HERE", of=_here, least=20),
        )
    elif what == "features":
        columns = (
            TableColumn("FEATURE", of="id"),
            TableColumn("NAME", of="name", least=12),
            TableColumn("SCENARIOS", of="scenarios", right=True),
        )
    else:
        columns = (
            TableColumn("SCENARIO", of="id", least=20),
            TableColumn("LIMIT", of=lambda row: f"{row['limit']:.0f} s", right=True),
            TableColumn("NEEDS", of=lambda row: ", ".join(row["needs"]), least=10, spare=1),
            TableColumn("PROVES", of="proves", least=30),
        )
    print_rows(rows, columns, as_json=as_json)
    if what is None and not as_json:
        print(count_of(len(rows), "scenario"))
    return 0


def _here(row: dict[str, Any]) -> str:
    able = [engine for engine, missing in row["missing"].items() if not missing]
    return f"runs with {', '.join(able)}" if able else "; ".join(sorted(set(row["missing"].values())))


def _scenarios() -> list[dict[str, Any]]:
    from rocketwire.compat.scenario import catalogue

    return [
        {
            "id": each.id,
            "feature": each.feature,
            "proves": each.proves,
            "source": each.source,
            "needs": [str(need) for need in each.needs],
            "programs": list(each.programs),
            "background": list(each.background),
            "clients": list(each.clients),
            "limit": each.limit,
            "ours_only": each.ours_only,
        }
        for each in catalogue().values()
    ]


def _features() -> list[dict[str, Any]]:
    from collections import Counter

    from rocketwire.compat.scenario import FEATURES, catalogue

    counts = Counter(each.feature for each in catalogue().values())
    return [{"id": id_, "name": name, "scenarios": counts[id_]} for id_, name in FEATURES.items()]


def _clients() -> list[dict[str, Any]]:
    from rocketwire.compat.clients.registry import adapters

    return [
        {
            "id": each.id,
            "name": each.name,
            "version": each.version,
            "language": each.language,
            "where": sorted(each.engines),
            "missing": {str(engine): each.missing(engine) for engine in sorted(each.engines)},
            "programs": sorted(each.programs),
        }
        for each in adapters().values()
    ]
