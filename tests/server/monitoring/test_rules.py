"""The shipped alert rules: every metric and label in them exists in a live scrape."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.harness import serving
from tests.server.monitoring.scraping import Described, scraped
from tests.server.monitoring.test_health import HTTP

DEPLOY = Path(__file__).parents[3] / "deploy" / "prometheus"
DOCS = Path(__file__).parents[3] / "docs" / "monitoring.md"
OF_PROMETHEUS = {"job", "instance", "le", "alertname"}
SELECTOR = re.compile(r"([a-z_][a-z0-9_:]*)\{([^}]*)\}")
NAME = re.compile(r"\b(?:rocketwire[a-z0-9_:]*|process_[a-z_]+|python_[a-z_]+)\b")


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((DEPLOY / "rocketwire.rules.yml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def unquoted(expression: str) -> str:
    return re.sub(r'"[^"]*"', '""', expression)


async def known_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """The labels of each name that a rule may use: a scrape's, and those recorded by rules before it."""
    described = Described(monkeypatch)
    async with serving(tmp_path, http=HTTP) as server:
        await scraped(server)
        known = {each.name: {*each.labels, *OF_PROMETHEUS} for each in described.families()}
    for name, labels in list(known.items()):
        if name.endswith("_seconds"):
            known |= {f"{name}_{suffix}": labels for suffix in ("bucket", "count", "sum")}
    for rule in rules():
        if "record" in rule:
            used = NAME.findall(unquoted(rule["expr"]))
            known[rule["record"]] = set.union(*(known[name] for name in used))
    return known


async def test_each_name_and_label_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = await known_labels(tmp_path, monkeypatch)
    for rule in rules():
        expression = unquoted(rule["expr"])
        names = [name for name in NAME.findall(expression) if name != "rocketwire"]
        assert names or "up{" in expression, rule
        assert [name for name in names if name not in known] == []
        for name, matchers in SELECTOR.findall(expression):
            labels_used = set(re.findall(r"([a-z_]+) *[=!]", matchers))
            assert labels_used <= known.get(name, OF_PROMETHEUS), rule
        of_all = set.union(*(known[name] for name in names)) if names else OF_PROMETHEUS
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            assert set(re.findall(r"[a-z_]+", grouped)) <= of_all, rule
        for text in rule.get("annotations", {}).values():
            assert set(re.findall(r"\$labels\.([a-z_]+)", text)) <= of_all, rule


def test_metrics_of_an_alert_are_recorded_before_it_in_its_group() -> None:
    for group in yaml.safe_load((DEPLOY / "rocketwire.rules.yml").read_text())["groups"]:
        recorded: set[str] = set()
        for rule in group["rules"]:
            assert set(re.findall(r"rocketwire:[a-z0-9_:]+", rule["expr"])) <= recorded
            recorded.add(rule.get("record", ""))


def test_each_alert_has_a_severity_and_a_description() -> None:
    alerts = [rule for rule in rules() if "alert" in rule]
    assert len({rule["alert"] for rule in alerts}) == len(alerts) >= 15
    for rule in alerts:
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"]["summary"]


def test_seventy_percent_at_three_points_in_a_row_is_an_alert() -> None:
    (group,) = [
        group
        for group in yaml.safe_load((DEPLOY / "rocketwire.rules.yml").read_text())["groups"]
        if group["name"] == "rocketwire-quotas"
    ]
    nearly = [rule for rule in group["rules"] if rule.get("alert", "").endswith("QuotaNearlyUsed")]
    assert {re.findall('direction="([a-z]+)"', rule["expr"])[0] for rule in nearly} == {"send", "receive"}
    for rule in nearly:
        assert (group["interval"], rule["for"]) == ("1m", "2m")
        assert rule["expr"].endswith(">= 0.7")


def test_the_page_names_each_alert() -> None:
    assert sorted(set(re.findall(r"`(Rocketwire[A-Za-z]+)`", DOCS.read_text()))) == sorted(
        rule["alert"] for rule in rules() if "alert" in rule
    )


def test_the_tests_for_promtool_name_existing_alerts() -> None:
    document = yaml.safe_load((DEPLOY / "rocketwire.test.yml").read_text())
    tested = {case["alertname"] for test in document["tests"] for case in test["alert_rule_test"]}
    assert tested <= {rule.get("alert") for rule in rules()}
