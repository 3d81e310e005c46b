"""`make proxy-catalogue`: the whole catalogue through `rocketwire proxy`, in front of several brokers of each kind.

    python -m compat_tests.proxy_catalogue [--clients ID,...] [--brokers KIND,...] [--scenarios GLOB,...] [--jobs N]

Its results are the rows of the table in docs/proxy.md, which it brings up to date. No settings offer all scenarios, so
each kind of cluster is started with some after the other, and scenarios that one does not offer are run with the next.
What does
not pass runs without the proxy, too, on the same cluster: what passes there fails by the proxy, and then the exit code
is 1. Servers listen on free ports of the loopback interface; neither processes nor files remain.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from compat_tests.endpoints import AGED, GENEROUS, SWIFT
from compat_tests.proxied import BROKERS, Proxied
from compat_tests.proxy_table import FAILED, Found, Row, brought_up_to_date
from compat_tests.readme import ROOT
from compat_tests.sdk_runs import results_of
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.endpoint import Access
from rocketwire.compat.engine.plan import NothingChosen, chosen_clients, chosen_scenarios
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS
from rocketwire.compat.results import Outcome
from rocketwire.compat.scenario import Scenario

_PAGE: Final = ROOT / "docs" / "proxy.md"
_ROUNDS: Final[Sequence[tuple[int | None, Mapping[str, str]]]] = (
    (None, SWIFT),
    (None, GENEROUS),
    (None, AGED),
    (1, SWIFT),  # what is about the only broker of a cluster
)
"""Clusters, one after the other: how many brokers, None for as many as the kind has, and their settings."""


def _words(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.option("--clients", callback=_words, default=",".join(f"java-{each}" for each in CLIENT_VERSIONS))
@click.option("--brokers", "kinds", callback=_words, default=",".join(BROKERS))
@click.option("--scenarios", callback=_words, default="*", help="Only these; then the page stays as it is.")
@click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True)
def main(clients: tuple[str, ...], kinds: tuple[str, ...], scenarios: tuple[str, ...], jobs: int) -> None:
    """Run it, print what was found, and write the table."""
    try:
        known, chosen = chosen_clients(clients, Engine.HOST), chosen_scenarios(globs=scenarios)
    except NothingChosen as error:
        raise click.UsageError(str(error)) from error
    if unknown := set(kinds) - set(BROKERS):
        raise click.UsageError(f"brokers {', '.join(unknown)}: there are none; expected {', '.join(BROKERS)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it stops as by Ctrl-C
    by_the_proxy = False
    for kind in kinds:
        found = of_kind(kind, [each for each in chosen if not each.grpc], list(known), jobs=jobs)
        rows = [Row.of(client, kind, [each for each in found if each.client == client]) for client in known]
        for row in rows:
            print(row.line)
        _print_details(kind, found)
        by_the_proxy |= any(each.by_proxy for each in found)
        if scenarios == ("*",):
            _PAGE.write_text(brought_up_to_date(_PAGE.read_text("utf-8"), rows), "utf-8")
    sys.exit(by_the_proxy)


def of_kind(kind: str, scenarios: Sequence[Scenario], clients: Sequence[str], *, jobs: int) -> list[Found]:
    """What came of scenarios with clients of 4.x, through a proxy in front of brokers of a kind."""
    found: dict[tuple[str, str], Found] = {}
    left = [(scenario, client) for client in clients for scenario in scenarios]
    for brokers, settings in _ROUNDS:
        with tempfile.TemporaryDirectory(prefix="rocketwire-proxied-") as folder:
            cluster = Proxied(Path(folder), kind=kind, brokers=brokers or BROKERS[kind], settings=settings)
            with running(cluster):
                for each in _through(cluster, left, clients, jobs=jobs):
                    key = each.scenario, each.client
                    if key not in found or each.outcome is not Outcome.NOT_OFFERED:
                        found[key] = each
        left = [(one, client) for one, client in left if found[one.id, client].outcome is Outcome.NOT_OFFERED]
    return list(found.values())


def _through(
    cluster: Proxied, chosen: Sequence[tuple[Scenario, str]], clients: Iterable[str], *, jobs: int
) -> Iterator[Found]:
    """What comes of scenarios at a proxy.

    Those that do not pass run at the cluster itself, too; those that pass there once more at the proxy, alone, since a
    busy machine lets some come too late.
    """
    for client in clients:
        own = [each for each in chosen if each[1] == client]
        found = _found(own, cluster, jobs=jobs)
        alone = [(one, client) for one, _ in own if found[one.id, client].by_proxy]
        yield from (found | _found(alone, cluster, jobs=1)).values()


def _found(chosen: Sequence[tuple[Scenario, str]], cluster: Proxied, *, jobs: int) -> dict[tuple[str, str], Found]:
    if not chosen:
        return {}
    results = results_of(chosen, Access(namesrv=cluster.namesrv), jobs=jobs)
    failed = [(one, client) for one, client in chosen if results[one.id, client].outcome in FAILED]
    direct = results_of(failed, Access(namesrv=cluster.upstream), jobs=jobs) if failed else {}
    return {key: Found(result=result, direct=direct.get(key)) for key, result in results.items()}


def _print_details(kind: str, found: Sequence[Found]) -> None:
    for each in found:
        if each.outcome not in {Outcome.PASS, Outcome.NOT_OFFERED}:
            direct = "" if each.direct is None else f"; without the proxy: {each.direct.outcome} {each.direct.reason}"
            print(f"{kind} {each.client} {each.scenario}: {each.outcome}: {each.result.reason}{direct}")
            print(next(attempt.error for attempt in each.result.attempts if attempt.error))
    reasons = Counter((each.client, each.result.reason) for each in found if each.outcome is Outcome.NOT_OFFERED)
    for (client, reason), count in sorted(reasons.items()):
        print(f"{kind} {client}: {count} not offered: {reason}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
