"""`rocketwire replay`: send the requests of a recording to an endpoint, and compare its answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import count_of, json_line, warn
from rocketwire.cli.parameter_types import FILE
from rocketwire.cli.table import TableColumn, print_table

if TYPE_CHECKING:
    from rocketwire.capture.replay.compare import AnswerDifference
    from rocketwire.capture.replay.player import ReplayOutcome, ReplayTarget

_EPILOG: Final = """\
The same connections are made, to the name server and to the brokers with the recorded names (or the only broker), and
the requests are sent in the recorded order: one follows once the answers recorded before it have come. Messages are
stored, topics made, offsets committed: use an endpoint for tests, without the recorded topics. Requests are signed
with the account of the options; else they are sent without the masked signatures. Those that the file has without
secrets or bodies are not sent; stderr says which.

Answers are compared by code, remark, fields and body. Of times, of the ids that a broker makes, places in its log,
addresses and versions of tables only their presence is compared.

Exit code: 0 when all answers are the same, 1 when some differ or a request was not sent.

\b
Examples:
  rocketwire replay session.rwr
  rocketwire replay session.rwr --namesrv 10.0.0.5:9876 --at-once
  rocketwire replay session.rwr --speed 10 --json
"""


@online_command("replay", _EPILOG)
@click.argument("file", metavar="FILE", type=FILE)
@click.option(
    "--speed",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help="Send N times as fast as recorded. [default: 1]",
)
@click.option("--at-once", is_flag=True, help="Do not wait as recorded, for answers only.")
def command(endpoint: ClusterAccess, *, file: str, speed: float | None, at_once: bool, as_json: bool) -> int:
    """Send the requests of a recording to an endpoint, and print where its answers differ."""
    if at_once and speed is not None:
        raise click.UsageError("--speed and --at-once exclude each other")
    from rocketwire.capture.contents.frames import decoded
    from rocketwire.capture.file.reader import load
    from rocketwire.capture.replay.player import RecordingPlayer

    events = list(decoded(load(file, warn)))
    player = RecordingPlayer(events, _target(endpoint), speed=None if at_once else speed or 1.0)
    found = player.differences()
    if as_json:
        for each in found:
            json_line({"event": "difference", **_json(each)})
        json_line({"event": "summary", **_counts(player.outcome)})
    else:
        differ = _print(found)
        if differ:
            print()
        _print_summary(player.outcome)
    for request in player.outcome.unsent:
        warn(f"frame {request.number}, {request.code_name}: not sent, the recording lacks its secrets or its body")
    return INCOMPLETE if player.outcome.failed else 0


def _target(endpoint: ClusterAccess) -> ReplayTarget:
    from rocketwire.capture.replay.player import ReplayTarget
    from rocketwire.remoting.credentials import Signer
    from rocketwire.wire.addresses import Address

    def brokers() -> dict[str, Address]:
        with endpoint.connected() as cluster:
            found = {name: each.address for name, each in cluster.all_brokers().items()}
        return {name: Address(host=host, port=port) for name, (host, port) in found.items()}

    with endpoint.connected() as cluster:
        name_server = cluster.current_name_server
    return ReplayTarget(
        name_server=name_server,
        brokers=brokers,
        tls=endpoint.tls,
        signer=None if endpoint.credentials is None else Signer(endpoint.credentials),
        timeout=endpoint.timeout,
    )


def _json(each: AnswerDifference) -> dict[str, Any]:
    return {
        "frame": each.frame,
        "connection": each.connection,
        "request": each.request,
        "field": each.field,
        "recorded": each.recorded,
        "replayed": each.replayed,
    }


def _counts(outcome: ReplayOutcome) -> dict[str, int]:
    return {
        "sent": outcome.sent,
        "compared": outcome.compared,
        "different": outcome.different,
        "unsent": len(outcome.unsent),
        "lost": outcome.lost,
    }


def _print(found: Iterable[AnswerDifference]) -> bool:
    """Print the differences; whether there is one."""
    differences = iter(found)
    first = next(differences, None)
    if first is None:
        return False
    columns = (
        TableColumn("FRAME", right=True),
        TableColumn("CONN", right=True, spare=1),
        TableColumn("REQUEST", least=12),
        TableColumn("FIELD", least=12),
        TableColumn("RECORDED", least=12),
        TableColumn("NOW", least=12),
    )

    def rows() -> Iterator[tuple[str, ...]]:
        for each in (first, *differences):
            values = _text(each.recorded), _text(each.replayed)
            yield str(each.frame), str(each.connection), each.request, each.field, *values

    print_table(columns, rows())
    return True


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _print_summary(outcome: ReplayOutcome) -> None:
    same = outcome.compared - outcome.different
    print(
        f"{count_of(outcome.sent, 'request')} sent, {count_of(outcome.compared, 'answer')} compared: "
        f"{same} the same, {outcome.different} different"
    )
