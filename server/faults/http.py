"""The HTTP resource `/faults`: lists, adds and removes fault rules while the server runs.

Rules are text, one a line, as `--fault` takes them; or JSON, `{"rule": ...}` or a list of such. Responses are JSON if
the client accepts `application/json`, otherwise text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rocketwire.server.faults.faulty import FaultInjection
from rocketwire.server.faults.grammar import RuleInvalid, parse_rule, rule_text
from rocketwire.server.faults.rule import Rule
from rocketwire.server.faults.rules import ActiveRule, FaultRules, TooManyRules
from rocketwire.server.http.messages import HttpRequest, HttpResponse, Routes, json_response, text_response

_JSON = "application/json"


class _Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule as JSON."""

    rule: str


def fault_routes(faults: FaultInjection | None) -> Routes:
    """The routes of `/faults`; None: faults are not allowed, and every request gets 403."""
    handlers = _Refusing() if faults is None else _Serving(faults.rules)
    return {
        ("GET", "/faults"): handlers.show,
        ("POST", "/faults"): handlers.add,
        ("DELETE", "/faults"): handlers.remove,
    }


class _Refusing:
    async def show(self, _request: HttpRequest) -> HttpResponse:
        return text_response(
            "no faults are allowed here: start the server with --fault RULE or --set faultInjectionEnable=true",
            status=403,
        )

    add = remove = show


class _Serving:
    def __init__(self, rules: FaultRules) -> None:
        self._rules = rules

    async def show(self, request: HttpRequest) -> HttpResponse:
        return _rules_response(request, tuple(self._rules))

    async def add(self, request: HttpRequest) -> HttpResponse:
        """Put all of them in force, or none."""
        try:
            given = _read(request)
            added = self._rules.add_all(given)
        except (RuleInvalid, TooManyRules) as error:
            return text_response(str(error), status=400)
        return _rules_response(request, added, status=201)

    async def remove(self, request: HttpRequest) -> HttpResponse:
        """Remove the rule of `?id=`, or all; refuse other parameters, which may be a misspelt id."""
        if others := sorted(request.parameters.keys() - {"id"}):
            return text_response(f"{', '.join(others)}: expected /faults or /faults?id=NUMBER", status=400)
        text = request.parameters.get("id")
        removed = tuple(each for each in self._rules if text in {None, str(each.number)})
        if text is not None and not removed:
            return text_response(f"no fault has the id {text}: GET /faults lists them", status=404)
        for each in removed:
            self._rules.remove(each.number)
        return _rules_response(request, removed)


def _read(request: HttpRequest) -> list[Rule]:
    if _JSON in request.headers.get("content-type", ""):
        try:
            found = msgspec.json.decode(request.body, type=_Given | list[_Given])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RuleInvalid(f'{error}: expected {{"rule": "RULE"}} or a list of such') from error
        texts = [each.rule for each in (found if isinstance(found, list) else [found])]
    else:
        texts = [line for line in request.body.decode(errors="replace").splitlines() if line.strip()]
    if not texts:
        raise RuleInvalid("no rule is given: expected one a line, as --fault takes them")
    return [_parsed(text) for text in texts]


def _parsed(text: str) -> Rule:
    try:
        return parse_rule(text)
    except RuleInvalid as error:
        raise RuleInvalid(f"{text}: {error}") from error


def _rules_response(request: HttpRequest, rules: Sequence[ActiveRule], *, status: int = 200) -> HttpResponse:
    if _JSON in request.headers.get("accept", ""):
        return json_response({"faults": [_value(each) for each in rules]}, status=status)
    lines = [f"{each.number} struck={each.matches} {rule_text(each.rule)}" for each in rules]
    return text_response("\n".join(lines) or "no faults", status=status)


def _value(each: ActiveRule) -> dict[str, Any]:
    return {"id": each.number, "struck": each.matches, "spent": each.spent, "rule": rule_text(each.rule)}
