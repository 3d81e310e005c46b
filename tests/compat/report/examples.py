"""Made-up results: small ones, hostile ones, and large ones with names as they really are."""

import random
from collections.abc import Iterator
from typing import Final

from rocketwire.compat.results import (
    Attempt,
    Client,
    Difference,
    Endpoint,
    Feature,
    Frame,
    Outcome,
    Reference,
    Result,
    Results,
    Scenario,
    Side,
)

STARTED: Final = 1_763_900_000_000
HOSTILE: Final = "<script>alert(1)</script> </SCRIPT><!-- \" ' & \u2028 \u202e \x1b[31m \x00 ]]> --> `|` \\ {{7*7}}"

_CLIENTS: Final = (
    ("java-4.4.0", "Apache's Java client", "4.4.0", "Java"),
    ("java-4.9.7", "Apache's Java client", "4.9.7", "Java"),
    ("java-5.5.0", "Apache's Java client", "5.5.0", "Java"),
    ("go-2.1.0", "Apache's Go client", "2.1.0", "Go"),
    ("node-ali-ons", "ali-ons", "4.4.1", "JavaScript"),
    ("spring-2.3.1", "RocketMQ Spring starter", "2.3.1", "Java"),
    ("camel-4.8", "Camel's rocketmq component", "4.8.1", "Java"),
    ("openmessaging-4.9.7", "OpenMessaging client", "4.9.7", "Java"),
)
_FEATURES: Final = {
    "Send": "sync async oneway batch by-selector to-queue compressed large properties keys",
    "Pull": "from-beginning at-offset blocking long-poll no-new-message offset-illegal max-messages min-offset",
    "Push, concurrent": "all-once tags many-queues rebalance suspend while-sending batches broadcast shutdown",
    "Push, orderly": "one-queue per-key locked suspended retried two-members lock-lost unlock",
    "Retries": "first-level growing max-reconsumed dead-letter dlq-read named-retry-topic",
    "Delays": "level-1 levels level-18 cancelled-restart schedule-topic-hidden",
    "Timers": "at-time recall far-future precision rolled",
    "Transactions": "commit roll-back back-check unknown-state check-max half-hidden member-gone two-producers",
    "Filters": "tag-or sql-compare sql-between sql-in sql-null sql-boolean sql-bad-expression mixed-members",
    "Offsets": "first last by-timestamp reset clone max commit-broken consume-from-timestamp",
    "Query": "by-key by-id by-unique-key missing time-range index-full view-message limits",
    "Name server": "route-unknown auto-create permission two-brokers kv order-config topic-list",
    "Groups": "members running-info jstack online-change same-name-twice unsubscribe consume-stats lag progress",
    "Access control": "right-key wrong-key wrong-signature topic-denied group-denied default-perm ip-white-list admin",
    "TLS": "any-certificate ca-checked mutual-refused plain-beside version-1.3",
    "Request and reply": "sync async timed-out two-requesters late-reply",
    "Connections": "idle-closed reconnect vip-channel go-away slow-reader heartbeat-lost",
}


def scenarios_of(feature: str, place: int) -> Iterator[Scenario]:
    start = feature.lower().split(",")[0].replace(" ", "-") + ("-orderly" if "orderly" in feature else "")
    for name in _FEATURES[feature].split():
        needs = ("sql",) if name.startswith("sql") else ("acl",) if feature == "Access control" else ()
        yield Scenario(
            id=f"{start}.{name}",
            feature=f"f{place}",
            proves=f"A client sees with {name.replace('-', ' ')} what Apache's broker shows: once, whole, in order.",
            source=f"docs/en/RocketMQ_Example.md, {feature}; DefaultMQPushConsumerImpl.java",
            needs=needs,
            limit=60.0,
            ours_only=feature == "Timers" and name == "recall",
        )


def large(*, clients: int = 8, bad: float = 0.06, evidence: int = 1, reference: bool = True, seed: int = 7) -> Results:
    """Some 120 scenarios; `bad` is about the share that does not pass, `evidence` multiplies logs and frames."""
    chance = random.Random(seed)
    scenarios = [scenario for place, feature in enumerate(_FEATURES) for scenario in scenarios_of(feature, place)]
    chosen = [
        Client(
            id=name, name=title, version=version, language=language, where="host" if language == "Go" else "container"
        )
        for name, title, version, language in _CLIENTS[:clients]
    ]
    results = []
    for scenario in scenarios:
        weak = chance.random() < bad * 3
        for client in chosen:
            results.append(_result(chance, scenario, client, bad * 4 if weak else bad / 4, evidence))
            if reference:
                fine = results[-1].outcome is Outcome.NOT_OFFERED
                outcome = Outcome.NOT_OFFERED if fine else Outcome.PASS
                reason = results[-1].reason if fine else ""
                attempts = () if fine else (Attempt(passed=True, seconds=1.1),)
                results.append(_made(scenario, client, outcome, reason, 1.1, attempts, (), Side.REFERENCE))
    return Results(
        started=STARTED,
        seconds=713.4,
        version="0.1.0",
        endpoint=Endpoint(
            namesrv="127.0.0.1:9876",
            name="rocketwire 0.1.0",
            settings=("SQL filters on", "access control off", "timers on", "4 queues a topic"),
        ),
        reference=Reference(name="Apache RocketMQ 4.9.7") if reference else None,
        clients=tuple(chosen),
        features=tuple(Feature(id=f"f{place}", name=name) for place, name in enumerate(_FEATURES)),
        scenarios=tuple(scenarios),
        results=tuple(results),
    )


def _result(chance: random.Random, scenario: Scenario, client: Client, bad: float, evidence: int) -> Result:
    seconds = round(chance.uniform(0.2, 4), 3)
    outcome, reason = Outcome.PASS, ""
    if scenario.needs == ("acl",):
        outcome, reason = Outcome.NOT_OFFERED, "the endpoint has no access control"
    elif (
        client.language == "JavaScript"
        and "." in scenario.id
        and scenario.id.startswith(("trans", "timers", "request"))
    ):
        outcome, reason = Outcome.NOT_OFFERED, "the client has no such function"
    elif chance.random() < bad:
        outcome = chance.choice((Outcome.DIFFERS, Outcome.DIFFERS, Outcome.FAILS, Outcome.FLAKY))
        reason = {
            Outcome.DIFFERS: "expected queue offsets [0, 1, 2, 3], found [0, 1, 3]",
            Outcome.FAILS: "MQBrokerException: CODE: 13 DESC: the message is illegal, maybe msg body or properties",
            Outcome.FLAKY: "not done after 60 s; passed when it ran again",
        }[outcome]
    if outcome is Outcome.NOT_OFFERED:
        return _made(scenario, client, outcome, reason, 0.0, (), ())
    if outcome is Outcome.PASS:
        attempt = Attempt(passed=True, seconds=seconds, log="".join(_log(chance, 6)))
        return _made(scenario, client, outcome, "", seconds, (attempt,), ())
    first = Attempt(passed=False, seconds=seconds, error=_error(scenario), log="".join(_log(chance, 30 * evidence)))
    again = Attempt(
        passed=outcome is Outcome.FLAKY,
        seconds=seconds,
        error="" if outcome is Outcome.FLAKY else _error(scenario),
        log="".join(_log(chance, 30 * evidence)),
        frames=tuple(_frames(chance, 24 * evidence)),
    )
    differences = (
        Difference(
            where="PULL_MESSAGE answer 3, header nextBeginOffset",
            expected="code: SUCCESS\nnextBeginOffset: 4\nminOffset: 0\nmaxOffset: 4",
            actual="code: SUCCESS\nnextBeginOffset: 3\nminOffset: 0\nmaxOffset: 4",
        ),
        Difference(
            where="frame 9: UPDATE_CONSUMER_OFFSET from the client", expected="queueId: 2\ncommitOffset: 4", actual=None
        ),
    )
    return _made(scenario, client, outcome, reason, seconds * 2, (first, again), differences)


def _made(
    scenario: Scenario,
    client: Client,
    outcome: Outcome,
    reason: str,
    seconds: float,
    attempts: tuple[Attempt, ...],
    differences: tuple[Difference, ...],
    side: Side = Side.ENDPOINT,
) -> Result:
    return Result(
        scenario=scenario.id,
        client=client.id,
        side=side,
        outcome=outcome,
        reason=reason,
        seconds=seconds,
        attempts=attempts,
        frame_diff=differences,
    )


def _error(scenario: Scenario) -> str:
    module, _, function = scenario.id.partition(".")
    return (
        "Traceback (most recent call last):\n"
        f'  File "rocketwire/compat/scenarios/{module}.py", line 64, in {function}\n'
        "    assert offsets == [0, 1, 2, 3]\n"
        "           offsets = [0, 1, 3]\n"
        "AssertionError: expected queue offsets [0, 1, 2, 3], found [0, 1, 3]\n"
    )


def _log(chance: random.Random, lines: int) -> Iterator[str]:
    for number in range(lines):
        yield (
            f"2026-11-23 17:{number // 60 % 60:02}:{number % 60:02},{chance.randrange(1000):03} INFO RocketmqClient - "
            f"[persistAll] Group: compat_{chance.randrange(16**8):08x} ClientId: 127.0.0.1@{chance.randrange(99999)} "
            f"updateConsumeOffsetToBroker MessageQueue [topic=Topic_{chance.randrange(99)}, queueId=2] {number}\n"
        )


def _frames(chance: random.Random, count: int) -> Iterator[Frame]:
    at = STARTED
    for number in range(count):
        at += chance.randrange(1, 90)
        request = number % 2 == 0
        name = chance.choice(("PULL_MESSAGE", "SEND_MESSAGE_V2", "HEART_BEAT", "GET_CONSUMER_LIST_BY_GROUP"))
        detail = "\n".join(
            (
                f"code: {name if request else 'SUCCESS'}",
                "language: JAVA",
                "version: V4_9_7",
                f"opaque: {number // 2}",
                f"extFields:\n  topic: Topic_{chance.randrange(99)}\n  queueId: {chance.randrange(4)}",
                f"body: {chance.randbytes(24).hex()}",
            )
        )
        yield Frame(
            at=at,
            connection=1 + number % 3,
            sender="client" if request else "endpoint",
            summary=f"{name} opaque={number // 2} queueId=2" if request else f"SUCCESS opaque={number // 2}, 412 bytes",
            detail=detail,
        )


def small(*outcomes: Outcome, reason: str = "", reference: bool = False, endpoint: str = "rocketwire 0.1.0") -> Results:
    """One client, one feature, a scenario for each outcome."""
    scenarios = tuple(
        Scenario(id=f"send.s{number}", feature="send", proves="it works", source="the guide", limit=60.0)
        for number in range(len(outcomes))
    )
    results = tuple(
        Result(
            scenario=scenario.id,
            client="java-4.9.7",
            side=Side.ENDPOINT,
            outcome=outcome,
            reason=reason,
            seconds=1.0,
            attempts=(Attempt(passed=outcome is Outcome.PASS, seconds=1.0, error=reason, log=reason),),
        )
        for scenario, outcome in zip(scenarios, outcomes, strict=True)
    )
    return Results(
        started=STARTED,
        seconds=2.0,
        version="0.1.0",
        endpoint=Endpoint(namesrv="127.0.0.1:9876", name=endpoint),
        reference=Reference(name="Apache RocketMQ 4.9.7") if reference else None,
        clients=(Client(id="java-4.9.7", name="Java", version="4.9.7", language="Java", where="host"),),
        features=(Feature(id="send", name="Send"),),
        scenarios=scenarios,
        results=results,
    )


def hostile(text: str = HOSTILE) -> Results:
    """Results whose every text wants to be markup."""
    attempt = Attempt(
        passed=False,
        seconds=1.0,
        error=text,
        log=text,
        frames=(Frame(at=STARTED, connection=1, sender="client", summary=text, detail=text),),
    )
    return Results(
        started=STARTED,
        seconds=1.0,
        version=text,
        endpoint=Endpoint(namesrv=text, name=text, settings=(text,)),
        reference=Reference(name=text),
        clients=(Client(id=text, name=text, version=text, language=text, where="host"),),
        features=(Feature(id=text, name=text),),
        scenarios=(Scenario(id=text, feature=text, proves=text, source=text, needs=(text,), limit=1.0),),
        results=tuple(
            Result(
                scenario=text,
                client=text,
                side=side,
                outcome=Outcome.DIFFERS,
                reason=text,
                seconds=1.0,
                attempts=(attempt,),
                frame_diff=(Difference(expected=text, actual=text, where=text),),
            )
            for side in Side
        ),
    )
