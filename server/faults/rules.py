"""The fault rules in force: finds the one that matches a request, and counts the matches of each.

The first rule that matches wins, in the order in which they were given. A rule does not match when its conditions are
not met, when its rate leaves this request out, or when its count is used up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.faults.grammar import rule_text
from rocketwire.server.faults.rule import ALWAYS, MOST_RULES, OWN_CODES, Action, ListenerName, Rule
from rocketwire.server.faults.subject import RequestSubject
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


class TooManyRules(Exception):
    """There are too many rules to add another; the message is one line."""

    def __init__(self) -> None:
        super().__init__(f"at most {MOST_RULES} fault rules may be active: remove some")


class ActiveRule:
    """One rule with its counter.

    Attributes:
        number: Its id.
        rule: Its conditions and action.
        matches: How many requests it has matched.
    """

    __slots__ = ("matches", "number", "rule")

    def __init__(self, number: int, rule: Rule) -> None:
        self.number = number
        self.rule = rule
        self.matches = 0

    @property
    def spent(self) -> bool:
        """Whether its count is used up."""
        return self.rule.count is not None and self.matches >= self.rule.count


class FaultRules:
    """All rules of one server.

    Attributes:
        active: Whether any rule may still match.
    """

    def __init__(self, rules: Sequence[Rule] = (), *, choose: Callable[[int], int], metrics: Metrics) -> None:
        """Begin with some rules.

        Args:
            rules: The rules to begin with.
            choose: Returns a random number below its argument, uniformly.
            metrics: Counts matches by action.

        Raises:
            TooManyRules: there are too many.
        """
        self._choose = choose
        self._metrics = metrics
        self._numbers = count(1)
        self._rules: dict[int, ActiveRule] = {}
        self.active = False
        self.add_all(rules)

    def __iter__(self) -> Iterator[ActiveRule]:
        """The rules in the order in which they are tried, spent ones too."""
        return iter(tuple(self._rules.values()))

    @property
    def active_rules(self) -> int:
        """How many rules may still match."""
        return sum(not each.spent for each in self._rules.values())

    def add_all(self, rules: Sequence[Rule]) -> tuple[ActiveRule, ...]:
        """Append rules to the others: all of them, or none.

        Raises:
            TooManyRules: there would be too many.
        """
        if len(self._rules) + len(rules) > MOST_RULES:
            raise TooManyRules
        return tuple(map(self._add, rules))

    def _add(self, rule: Rule) -> ActiveRule:
        added = ActiveRule(next(self._numbers), rule)
        self._rules[added.number] = added
        self.active = True
        log.warning("fault %(fault)d is in force: %(rule)s", {"fault": added.number, "rule": rule_text(rule)})
        return added

    def remove(self, number: int) -> bool:
        """Remove a rule; return whether there was one with that id."""
        removed = self._rules.pop(number, None)
        if removed is None:
            return False
        self._look()
        log.warning(
            "fault %(fault)d is removed, it struck %(struck)d times: %(rule)s",
            {"fault": number, "struck": removed.matches, "rule": rule_text(removed.rule)},
        )
        return True

    def match(self, listener: ListenerName, header: Header, body: Buffer, *, own: bool = False) -> Action | None:
        """Return the action of the rule that matches a request, and count the match; None: no rule matches.

        Args:
            listener: The listener of the connection.
            header: The request's header.
            body: The request's body, which may name groups.
            own: Whether the server sends the request, to a client.
        """
        subject = RequestSubject(header, body)
        for each in self._rules.values():
            if each.spent or not _is_for(each.rule, listener, header.code, own=own):
                continue
            if _is_about(each.rule, subject) and self._hits(each.rule):
                self._count(each)
                return each.rule.action
        return None

    def _hits(self, rule: Rule) -> bool:
        return rule.rate == ALWAYS or self._choose(ALWAYS) < rule.rate

    def _count(self, matched: ActiveRule) -> None:
        matched.matches += 1
        self._metrics.faults[matched.rule.action.NAME] += 1
        if matched.spent:
            log.warning(
                "fault %(fault)d has struck %(struck)d times and is spent",
                {"fault": matched.number, "struck": matched.matches},
            )
            self._look()

    def _look(self) -> None:
        self.active = self.active_rules > 0


def _is_for(rule: Rule, listener: ListenerName, code: int, *, own: bool) -> bool:
    # Only rules that name their code match the server's own requests: `drop` alone is not meant for them.
    named = code in rule.codes and (code in OWN_CODES) == own
    return (named or not (own or rule.codes)) and (rule.listener is None or rule.listener is listener)


def _is_about(rule: Rule, subject: RequestSubject) -> bool:
    return (rule.topic is None or subject.has_topic(rule.topic)) and (
        rule.group is None or subject.has_group(rule.group)
    )
