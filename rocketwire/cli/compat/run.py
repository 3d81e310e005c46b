"""`rocketwire compat run`: run scenarios with official clients against an endpoint, and write a report."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line, warn

if TYPE_CHECKING:
    from types import FrameType

    from rocketwire.compat.clients.adapter import Adapter, Engine, Security
    from rocketwire.compat.endpoint import Facts
    from rocketwire.compat.results import Results
    from rocketwire.compat.scenario import Scenario
    from rocketwire.remoting.credentials import Credentials

_ENGINES: Final = ("host", "podman", "docker")
_JOBS: Final = 4
_EPILOG: Final = """\
Scenarios use separate topics and groups, whose names begin with one prefix; at the end, and at Ctrl-C, they are
removed. What the endpoint's settings forbid is not offered, with the reason. What does not pass is tried once more
behind a recording proxy; the report shows the frames. Clients are fetched from their registries, pinned, into
~/.cache/rocketwire at the first run.

Exit code: 0 when all that ran passed, 1 when not, 2 for wrong use, 3 when no endpoint answers.

\b
Examples:
  rocketwire compat run --namesrv 10.0.0.5:9876
  rocketwire compat run --clients java-4.9.7 --features send,push --out report
  rocketwire compat run --scenarios 'order.*' --against apache-4.9.7
  rocketwire compat run --acl AK:SK --tls-any --engine podman
"""


def _words(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


@online_command("run", _EPILOG)
@click.option("--clients", metavar="ID,...", callback=_words, help="Only these. [default: all that can run here]")
@click.option("--features", metavar="ID,...", callback=_words, help="Only scenarios of these features.")
@click.option("--scenarios", metavar="GLOB,...", callback=_words, help="Only scenarios whose ids match one of these.")
@click.option(
    "--grpc",
    metavar="HOST:PORT",
    help="Where clients of 5.x connect. [default: port 8081 of the name server's host, if something listens there]",
)
@click.option("--acl", metavar="AK:SK", help="The account, as --access-key and --secret-key name it.")
@click.option(
    "--engine",
    type=click.Choice(_ENGINES),
    default="host",
    show_default=True,
    help="Where clients run: on this machine, or in containers.",
)
@click.option(
    "--against",
    metavar="NAME",
    help="Run the same against a reference: apache-4.9.7 or apache-5.5.0, started here, or HOST:PORT.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("compat-report"),
    show_default=True,
    help="The folder for the report: HTML, JUnit, JSON, Markdown and a badge.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    default=_JOBS,
    show_default=True,
    help="Scenarios that run at the same time.",
)
@click.option(
    "--limit",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="End each scenario after so long. [default: its own limit]",
)
def command(
    endpoint: ClusterAccess,
    *,
    clients: tuple[str, ...],
    features: tuple[str, ...],
    scenarios: tuple[str, ...],
    grpc: str | None,
    acl: str | None,
    engine: str,
    against: str | None,
    out: Path,
    jobs: int,
    limit: float | None,
    as_json: bool,
) -> int:
    """Run scenarios with official clients against an endpoint, and write a report."""
    from rocketwire.compat.clients.adapter import Engine
    from rocketwire.compat.endpoint import Access
    from rocketwire.compat.engine.plan import NothingChosen, chosen_clients, chosen_scenarios
    from rocketwire.compat.engine.probe import grpc_address, probe
    from rocketwire.wire.addresses import AddressInvalid

    if acl is not None:
        endpoint = replace(endpoint, credentials=_account(acl))
    try:
        chosen = chosen_scenarios(features, scenarios)
        adapters = chosen_clients(clients, Engine(engine))
    except NothingChosen as error:
        raise CommandError(str(error)) from error
    try:
        where = grpc_address(endpoint.name_servers, grpc)
    except AddressInvalid as error:
        raise CommandError(f"--grpc {grpc}: {error}") from error
    access = Access(namesrv=endpoint.name_servers, credentials=endpoint.credentials, tls=endpoint.tls, grpc=where)
    facts = probe(access)
    with _until_signal():
        results = _run(facts, chosen, adapters, Engine(engine), against=against, jobs=jobs, limit=limit)
    return _report(results, out, as_json=as_json)


def _account(text: str) -> Credentials:
    from rocketwire.remoting.credentials import Credentials

    access_key, _, secret_key = text.partition(":")
    if not (access_key and secret_key):
        raise CommandError("--acl: expected AK:SK, an access key and its secret key")
    return Credentials(access_key=access_key, secret_key=secret_key)


def _run(
    facts: Facts,
    chosen: list[Scenario],
    adapters: Mapping[str, Adapter],
    engine: Engine,
    *,
    against: str | None,
    jobs: int,
    limit: float | None,
) -> Results:
    from rocketwire.cli.compat.report import progress
    from rocketwire.compat.brokers.processes import EndpointError
    from rocketwire.compat.clients.registry import adapters as every
    from rocketwire.compat.engine.plan import HELPER, planned
    from rocketwire.compat.engine.reference import reference
    from rocketwire.compat.engine.run import Run, Settings
    from rocketwire.compat.environment.artifacts import ArtifactError
    from rocketwire.compat.results import Side
    from rocketwire.server.core.clocks.clock import system_clock

    began, started = time.monotonic(), system_clock()
    helper = every()[HELPER]
    helping = None if helper.missing(engine) else helper
    sides = {Side.ENDPOINT: facts}
    try:
        for each in {*adapters.values(), *([helping] if helping else [])}:
            each.prepare(engine)
        with contextlib.ExitStack() as stack:
            if against is not None:
                sides[Side.REFERENCE] = stack.enter_context(
                    reference(against, facts.access, facts, grpc=any(each.grpc for each in adapters.values()))
                )
            security = _security(facts)
            tasks = planned(chosen, adapters, sides, security=security, helper=helping)
            if not tasks:
                raise CommandError(
                    "none of these scenarios is for these clients: features grpc-* are for clients of 5.x"
                )
            settings = Settings(
                engine=engine,
                clients=adapters,
                helper=helping,
                sides=sides,
                security=security,
                jobs=jobs,
                limit=limit,
            )
            run = Run(settings=settings, tasks=tasks)
            try:
                with progress(len(tasks)) as advance:
                    found = run.run(advance)
            finally:
                for line in run.complaints:
                    warn(line)
    except (ArtifactError, EndpointError) as error:
        raise CommandError(str(error)) from error
    from rocketwire.compat.engine.results import results_of

    return results_of(settings, chosen, found, started=started, seconds=time.monotonic() - began)


def _security(facts: Facts) -> frozenset[Security]:
    from rocketwire.compat.clients.adapter import Security

    demands = {Security.TLS: facts.access.tls, Security.ACL: facts.access.credentials}
    return frozenset(each for each, wanted in demands.items() if wanted is not None)


@contextlib.contextmanager
def _until_signal() -> Iterator[None]:
    """Let SIGTERM stop a run as Ctrl-C does."""

    def stop(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _report(results: Results, out: Path, *, as_json: bool) -> int:
    from rocketwire.compat.report.files import write_report
    from rocketwire.compat.report.score import doubtful, score

    files = write_report(results, out)
    found = score(results)
    for each in doubtful(results):
        warn(f"the reference did not pass {each.scenario} with {each.client}: {each.reason}")
    if as_json:
        json_line(results)
        return 0 if found.exit_code == 0 else INCOMPLETE
    counts = ", ".join(f"{count} {outcome}" for outcome, count in found.counts.items() if count)
    print(f"{results.endpoint.name}: {found.shown} of what ran passed ({counts})")
    print(f"report: {next(path for path in files if path.suffix == '.html')}")
    sys.stdout.flush()
    return 0 if found.exit_code == 0 else INCOMPLETE
