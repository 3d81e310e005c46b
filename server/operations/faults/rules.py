"""The rules in force: which of them strikes a request, and how often each has struck.

The first rule that strikes wins, in the order in which they were given. One whose conditions are not met, that chance
leaves out this time, or that has struck as often as it may, strikes nothing, so the next is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.operations.faults.grammar import rule_text
from rocketwire.server.operations.faults.rule import ALWAYS, MOST_RULES, OWN_CODES, Action, ListenerName, Rule
from rocketwire.server.operations.faults.subject import Subject
from rocketwire.wire.frame import Buffer
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


class TooManyRules(Exception):
    """No further rule is taken; the text is one line."""

    def __init__(self) -> None:
        super().__init__(f"allowed are {MOST_RULES} fault rules: remove some that are in force")


class RuleInForce:
    """One rule that strikes.

    Attributes:
        number: Its id.
        rule: What it says.
        struck: How often it has struck.
    """

    __slots__ = ("number", "rule", "struck")

    def __init__(self, number: int, rule: Rule) -> None:
        self.number = number
        self.rule = rule
        self.struck = 0

    @property
    def spent(self) -> bool:
        """Whether it has struck as often as it may."""
        return self.rule.count is not None and self.struck >= self.rule.count


class FaultRules:
    """All rules of one server.

    Attributes:
        active: Whether any rule may still strike.
    """

    def __init__(self, rules: Sequence[Rule] = (), *, choose: Callable[[int], int], metrics: Metrics) -> None:
        """Begin with some rules.

        Args:
            rules: Those of the start.
            choose: Gives a number by chance: one below its argument, each as likely.
            metrics: Counts what strikes.

        Raises:
            TooManyRules: there are too many.
        """
        self._choose = choose
        self._metrics = metrics
        self._numbers = count(1)
        self._rules: dict[int, RuleInForce] = {}
        self.active = False
        self.add_all(rules)

    def __iter__(self) -> Iterator[RuleInForce]:
        """The rules in the order in which they are asked, spent ones too."""
        return iter(tuple(self._rules.values()))

    @property
    def in_force(self) -> int:
        """How many rules may still strike."""
        return sum(not each.spent for each in self._rules.values())

    def add_all(self, rules: Sequence[Rule]) -> tuple[RuleInForce, ...]:
        """Put rules behind the others: all of them, or none.

        Raises:
            TooManyRules: there would be too many.
        """
        if len(self._rules) + len(rules) > MOST_RULES:
            raise TooManyRules
        return tuple(map(self._add, rules))

    def _add(self, rule: Rule) -> RuleInForce:
        added = RuleInForce(next(self._numbers), rule)
        self._rules[added.number] = added
        self.active = True
        log.warning("fault %d is in force: %s", added.number, rule_text(rule))
        return added

    def remove(self, number: int) -> bool:
        """Take a rule out of force; whether there is one with that id."""
        removed = self._rules.pop(number, None)
        if removed is None:
            return False
        self._look()
        log.warning("fault %d is removed, it struck %d times: %s", number, removed.struck, rule_text(removed.rule))
        return True

    def strike(self, listener: ListenerName, header: Header, body: Buffer, *, own: bool = False) -> Action | None:
        """What strikes a request, if anything does; each call is one request, and is counted.

        Args:
            listener: Who it is sent to, or whose client it goes to.
            header: Its header.
            body: Its body, where groups may be named.
            own: Whether it is the server's own, to a client.
        """
        subject = Subject(header, body)
        for each in self._rules.values():
            if each.spent or not _is_for(each.rule, listener, header.code, own=own):
                continue
            if _is_about(each.rule, subject) and self._hits(each.rule):
                self._count(each)
                return each.rule.action
        return None

    def _hits(self, rule: Rule) -> bool:
        return rule.rate == ALWAYS or self._choose(ALWAYS) < rule.rate

    def _count(self, struck: RuleInForce) -> None:
        struck.struck += 1
        self._metrics.faults[struck.rule.action.NAME] += 1
        if struck.spent:
            log.warning("fault %d has struck %d times and is spent", struck.number, struck.struck)
            self._look()

    def _look(self) -> None:
        self.active = self.in_force > 0


def _is_for(rule: Rule, listener: ListenerName, code: int, *, own: bool) -> bool:
    # The server's own requests are struck by name only: `drop` alone is not meant for them.
    named = code in rule.codes and (code in OWN_CODES) == own
    return (named or not (own or rule.codes)) and (rule.listener is None or rule.listener is listener)


def _is_about(rule: Rule, subject: Subject) -> bool:
    return (rule.topic is None or subject.has_topic(rule.topic)) and (
        rule.group is None or subject.has_group(rule.group)
    )
