"""`rocketwire compat list`: the catalogue, and which clients can run on this machine."""

from __future__ import annotations

from typing import Any, Final

import click

from rocketwire.cli.output import count_of, json_line, json_option
from rocketwire.cli.table import TableColumn, print_table

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
    rows = {"features": _features, "clients": _clients}.get(what or "", _scenarios)()
    if as_json:
        for row in rows:
            json_line(row)
        return 0

    if what == "clients":
        columns = (
            TableColumn("CLIENT"),
            TableColumn("NAME", least=12),
            TableColumn("WHERE", least=6),
            TableColumn("HERE", least=20),
        )
        print_table(columns, ((row["id"], row["name"], ", ".join(row["where"]), _here(row)) for row in rows))
    elif what == "features":
        table = (TableColumn("FEATURE"), TableColumn("NAME", least=12), TableColumn("SCENARIOS", right=True))
        print_table(table, ((row["id"], row["name"], str(row["scenarios"])) for row in rows))
    else:
        needs = TableColumn("NEEDS", least=10, spare=1)
        print_table(
            (
                TableColumn("SCENARIO", least=20),
                TableColumn("LIMIT", right=True),
                needs,
                TableColumn("PROVES", least=30),
            ),
            ((row["id"], f"{row['limit']:.0f} s", ", ".join(row["needs"]), row["proves"]) for row in rows),
        )
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
