"""JUnit XML as Maven's Surefire writes it: a test suite per client, a test case per scenario."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rocketwire.compat.report.plain import cut, one_line, plain
from rocketwire.compat.report.score import Score, score
from rocketwire.compat.results import Client, Outcome, Result, Results, Side

_LOG: Final = 20_000
"""The characters of a client's log that a test case has."""


def junit(results: Results) -> str:
    """The XML. What differs is a failure, what fails an error, and what is flaky passes with a `flakyFailure`."""
    root = Element("testsuites", _numbers(score(results), name=plain(results.endpoint.name), seconds=results.seconds))
    features = {each.id: each.feature for each in results.scenarios}
    places = {each.id: place for place, each in enumerate(results.scenarios)}
    for client in results.clients:
        own = [each for each in results.results if each.client == client.id and each.side is Side.ENDPOINT]
        suite = _suite(root, results, client, own)
        for result in sorted(own, key=lambda each: places[each.scenario]):
            _case(suite, result, features[result.scenario])
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _numbers(found: Score, *, name: str, seconds: float) -> dict[str, str]:
    counts = found.counts
    return {
        "name": name,
        "tests": str(sum(counts.values())),
        "failures": str(counts[Outcome.DIFFERS]),
        "errors": str(counts[Outcome.FAILS]),
        "skipped": str(counts[Outcome.NOT_OFFERED]),
        "flakes": str(counts[Outcome.FLAKY]),
        "time": f"{seconds:.3f}",
    }


def _suite(root: Element, results: Results, client: Client, own: list[Result]) -> Element:
    numbers = _numbers(
        score(results, client=client.id), name=plain(client.id), seconds=sum(each.seconds for each in own)
    )
    started = datetime.fromtimestamp(results.started / 1000, UTC)
    suite = SubElement(root, "testsuite", numbers, timestamp=started.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = SubElement(suite, "properties")
    for name, value in (
        ("endpoint", results.endpoint.name),
        ("namesrv", results.endpoint.namesrv),
        ("client", f"{client.name} {client.version} ({client.language}, {client.where})"),
        ("rocketwire", results.version),
    ):
        SubElement(properties, "property", name=name, value=plain(value))
    return suite


def _case(suite: Element, result: Result, feature: str) -> None:
    case = SubElement(
        suite,
        "testcase",
        classname=plain(f"{result.client}.{feature}"),
        name=plain(result.scenario),
        time=f"{result.seconds:.3f}",
    )
    reason = one_line(result.reason)
    match result.outcome:
        case Outcome.NOT_OFFERED:
            SubElement(case, "skipped", message=reason)
        case Outcome.DIFFERS | Outcome.FAILS:
            name = "failure" if result.outcome is Outcome.DIFFERS else "error"
            problem = SubElement(case, name, message=reason, type=result.outcome.value)
            problem.text = _errors(result) or reason
            log = "\n".join(each.log for each in result.attempts if each.log)
            SubElement(case, "system-out").text = cut(log, _LOG)
        case Outcome.FLAKY:
            for attempt in result.attempts:
                if not attempt.passed:
                    flaky = SubElement(case, "flakyFailure", message=reason, type=result.outcome.value)
                    SubElement(flaky, "stackTrace").text = cut(attempt.error, _LOG)
                    SubElement(flaky, "system-out").text = cut(attempt.log, _LOG)
        case Outcome.PASS:
            pass


def _errors(result: Result) -> str:
    return "\n\n".join(cut(each.error, _LOG) for each in result.attempts if each.error)
