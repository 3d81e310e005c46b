"""Filters: SQL92 with push, lite pull and pull consumers; tags of one hash code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rocketwire.compat.case import Case, NotPossible
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, assert_each_once
from rocketwire.compat.scenario import Need, scenario

_SQL: Final = "Apache 4.9, SqlFilter and ExpressionMessageFilter; rocketmq.apache.org, Message Filtering"

# Properties of the messages that most tests filter.
A_AND_B: tuple[Mapping[str, str], ...] = (
    {},
    {"a": "5"},
    {"a": "6"},
    {"a": "6", "b": "x"},
    {"a": "7", "b": "y"},
    {"a": "-3", "b": "it's"},
    {"a": "6.5", "b": "x"},
    {"a": "word", "b": "x"},
    {"b": "x"},
    {"b": "日本"},
)


def messages(tags: tuple[str, ...] = ("TagA", "TagB")) -> list[Outgoing]:
    """One of each; the bodies are their numbers."""
    return [
        Outgoing(body=str(number), tags=tags[number % len(tags)], properties=properties)
        for number, properties in enumerate(A_AND_B)
    ]


# What each expression lets through, by the number of the message.
OPERATORS = {
    "a > 5 AND b = 'x'": {3},
    "a >= 6": {2, 3, 4},
    "a < 0 OR a <= 5": {1, 5},
    "a > 6.0": {4, 6},
    "a = 6": {2, 3},
    "a <> 'word' AND b <> 'x'": {4, 5},
    "a BETWEEN 5 AND 6": {1, 2, 3},
    "a NOT BETWEEN 5 AND 6": {4, 5},
    "b IN ('y', 'it''s', '日本')": {4, 5, 9},
    "b NOT IN ('x')": {4, 5, 9},
    "a IS NULL": {0, 8, 9},
    "a IS NOT NULL AND b IS NULL": {1, 2},
    "NOT (b = 'x')": {4, 5, 9},
    "(TAGS = 'TagB' AND b = 'x') OR b = 'y' -- tags too\n": {3, 4, 7},
    "TRUE": set(range(len(A_AND_B))),
    "NULL": set(),
    "a": set(),
}


def pushed(
    case: Case, topic: str, wanted: Mapping[str, set[int]], message: Sequence[Outgoing] = ()
) -> dict[str, set[int]]:
    """What push consumers got, by their expressions: numbers of messages."""
    expressions = list(wanted)
    count = sum(map(len, wanted.values()))
    group = case.group()
    got = case.client.run(
        "PushSql", topic=topic, group=group, sql=expressions, count=count, settle=500, message=message
    )
    assert not events(got, "refused")
    result: dict[str, set[int]] = {expression: set() for expression in expressions}
    for event in events(got, "received"):
        number = int(event["text"])
        assert number not in result[expressions[int(event["by"])]]
        result[expressions[int(event["by"])]].add(number)
    return result


@scenario(
    id="filter.sql-operators",
    proves="SQL92 expressions of many kinds let through what they should, of messages that arrive at held pulls.",
    source=_SQL,
    needs=(Need.SQL,),
    programs=("PushSql",),
    limit=120,
)
def sql_operators(case: Case) -> None:
    assert pushed(case, case.topic(2, name="Filtered"), OPERATORS, message=messages()) == OPERATORS


@scenario(
    id="filter.sql-stored",
    proves="Stored messages are filtered by SQL92 as arriving ones are, for push, lite pull and pull consumers.",
    source=_SQL,
    needs=(Need.SQL,),
    programs=("PushSql", "OthersBySql"),
    background=("SendSync",),
)
def sql_stored(case: Case) -> None:
    if case.client.id == "java-5.5.0" and case.endpoint.is_apache_4:
        raise NotPossible("Apache 4.9.7 answers the code 361 of this client's pulls with code 3")
    topic, sent = case.topic(2, name="Filtered"), messages()
    case.doing("SendSync").run("SendSync", topic=topic, message=sent)
    wanted = {"a > 5 AND b = 'x'": {3}, "b IS NOT NULL": {3, 4, 5, 6, 7, 8, 9}}
    assert pushed(case, topic, wanted) == wanted
    got = case.client.only("received", "OthersBySql", topic=topic, group=case.group(), sql="b = 'x'", count=4)
    for kind in ("lite", "pull"):
        assert_each_once([event for event in got if event["by"] == kind], [sent[n] for n in (3, 6, 7, 8)])


@scenario(
    id="filter.sql-refused",
    proves="A consumer with a wrong expression is refused at its start with code 23, and with the reason.",
    source="Apache 4.9, ClientManageProcessor.checkClientConfig",
    needs=(Need.SQL,),
    programs=("PushSql",),
)
def sql_refused(case: Case) -> None:
    topic = case.topic(2, name="Filtered")
    bad = ["a = 1 AND\n b >", "a > 'x'"]
    got = case.client.run("PushSql", topic=topic, group=case.group(), sql=bad, count=0)
    first, second = events(got, "refused")
    assert (first["code"], second["code"]) == (23, 23)
    assert 'Encountered "<EOF>" at line 2, column 4' in first["message"]
    assert "Value ''x'' cannot be compared" in second["message"]


@scenario(
    id="filter.sql-functions",
    proves="CONTAINS, STARTSWITH and ENDSWITH of 5.x filter as documented.",
    source="Apache 5.5, SelectorParser and UnaryExpression; rocketmq.apache.org, Message Filtering",
    needs=(Need.SQL,),
    programs=("PushSql",),
    clients=("java-5.5.0",),
)
def sql_functions(case: Case) -> None:
    """4.9.7 knows none of them: it reads ``b CONTAINS 'x'`` as ``b``, which is never true, and refuses NOT CONTAINS."""
    wanted = {
        "b CONTAINS 't'": {5},
        "b NOT CONTAINS 't'": {3, 4, 6, 7, 8, 9},
        "b STARTSWITH '日'": {9},
        "b ENDSWITH '''s' OR a = '5'": {1, 5},
    }
    if case.endpoint.is_apache_4:
        wanted = {expression: set() for expression in wanted if "NOT" not in expression}
    assert pushed(case, case.topic(2, name="Filtered"), wanted, message=messages()) == wanted


@scenario(
    id="filter.tags-of-one-hash-code",
    proves="Of tags with one hash code a consumer gets the one that it names.",
    source="Apache 4.9, DefaultMessageFilter and PullAPIWrapper.processPullResult",
    programs=("PushConcurrent",),
    background=("SendToQueue",),
)
def tags_of_one_hash_code(case: Case) -> None:
    """The broker compares hash codes and sends all of them; the client compares the tags."""
    topic = case.topic(2, name="Filtered")
    tags = ("AaAa", "BBBB", "AaBB", "Other")
    sent = [Outgoing(body=f"{tag} {n}", tags=tag, queue=0) for n in range(3) for tag in tags]
    case.send_to_queues(topic, sent)
    wanted = {"topic": topic, "group": case.group(), "expression": "AaAa || Nobody"}
    got = case.client.only("received", "PushConcurrent", wanted, count=3)
    assert_each_once(got, [message for message in sent if message.tags == "AaAa"])
