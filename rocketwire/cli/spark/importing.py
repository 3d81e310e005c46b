"""`rocketwire spark import`: the rows of a table as messages."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from rocketwire.cli.errors import CommandError
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line, number
from rocketwire.cli.parameter_types import FOLDER
from rocketwire.cli.properties import parsed_changes
from rocketwire.cli.spark.session import check_installed, master_option

_EPILOG: Final = """\
TABLE is a folder, or what else the format takes: any format that Spark reads as a stream; with iceberg it is
NAMESPACE.NAME in a catalog. Its columns topic, body, tags, keys, properties and flag are sent, or those that --select
makes. DIR keeps what is sent: a run that was stopped is taken up there, and a later one sends new rows. At least once:
rows of a batch that was interrupted are sent again. Formats that are not Spark's own need their jar, by --conf; iceberg
needs none. Spark's own log is DIR/spark.log. Exit code: 0 when all is sent, 2 when it cannot be done.

\b
Examples:
  rocketwire spark import export --checkpoint state --topic Copy
  rocketwire spark import orders --format json --checkpoint state \\
    --select "'Orders' topic" --select 'to_json(struct(*)) body'
  rocketwire spark import lake/messages --format delta --checkpoint state \\
    --conf spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0
  rocketwire spark import shop.orders --format iceberg --catalog lake \\
    --checkpoint state --topic Orders
"""


@online_command("import", _EPILOG)
@click.argument("table", metavar="TABLE", type=FOLDER)
@click.option("--checkpoint", metavar="DIR", type=FOLDER, required=True, help="The folder that keeps what is sent.")
@click.option("--format", "kind", metavar="FORMAT", default="parquet", show_default=True, help="Of the table.")
@click.option(
    "--catalog",
    metavar="NAME",
    default="default",
    show_default=True,
    help="With iceberg: a catalog of pyiceberg's configuration.",
)
@click.option("--topic", metavar="T", help="The topic of rows without one.")
@click.option("--select", metavar="EXPR", multiple=True, help="A column of the messages, in SQL; repeatable.")
@click.option("--option", "options", metavar="KEY=VALUE", multiple=True, help="Spark's, of the format; repeatable.")
@click.option("--conf", "settings", metavar="KEY=VALUE", multiple=True, help="A setting of Spark; repeatable.")
@master_option
def command(
    endpoint: ClusterAccess,
    table: str,
    checkpoint: str,
    kind: str,
    catalog: str,
    topic: str | None,
    select: tuple[str, ...],
    options: tuple[str, ...],
    settings: tuple[str, ...],
    master: str,
    *,
    as_json: bool,
) -> int:
    """Send the rows of a table, as Parquet, Delta or Iceberg, as messages."""
    check_installed()
    from rocketwire.cli.spark.session import SparkRun
    from rocketwire.spark import importing
    from rocketwire.spark.errors import SparkSourceError

    source = importing.TableSource(
        path=table, format=kind, options=parsed_changes(options, "--option"), select=select, catalog=catalog
    )
    target = _target(endpoint, topic)
    folder = Path(checkpoint).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {**importing.settings(kind), **parsed_changes(settings, "--conf")}
    try:
        with SparkRun(master, folder / "spark.log", wanted) as session, session.short_errors():
            count = importing.import_rows(session.started(), source, target, str(folder / "stream"))
    except SparkSourceError as error:
        raise CommandError(f"{error.what}. {error.remedy}") from error
    if as_json:
        json_line({"rows": count})
    else:
        print(f"{number(count)} rows sent" if count else "there is no new row")
    return 0


def _target(endpoint: ClusterAccess, topic: str | None) -> dict[str, str]:
    """The endpoint as options of the data source."""
    if endpoint.tls is not None:
        raise CommandError("Spark's data source does not encrypt: name an endpoint without TLS")
    found = {"namesrv": endpoint.name_servers, "endpointTimeoutMs": str(int(endpoint.timeout * 1000))}
    if endpoint.credentials is not None:
        found |= {"accessKey": endpoint.credentials.access_key, "secretKey": endpoint.credentials.secret_key}
    return found if topic is None else found | {"topic": topic}
