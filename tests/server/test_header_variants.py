"""Missing, empty and malformed header fields: our servers make of them what Apache's of 4.9.7 do.

The exceptions stand in `header_differences`. What Apache's do is recorded; `compat_tests/test_header_variants.py` asks
them again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.server.registry import FAMILIES
from rocketwire.wire.frame import Frame
from tests.server.harness import Client, Server, serving
from tests.server.header_bases import ACCOUNTS, BASES, CLUSTER, GUARDED, NOT_SENT, examine_all, examine_with_accounts
from tests.server.header_differences import DIFFERENCES
from tests.server.header_variants import (
    SERIALISATIONS,
    Examination,
    Outcomes,
    ServerAnswer,
    ServerRequest,
    answer_of_client,
    packed,
    unpacked,
)
from tests.wire.golden import HEADER_VARIANTS

Place = tuple[str, str, str]
"""A request's label, a field and a variant of it, with its serialisation."""


def by_place(outcomes: Outcomes) -> dict[Place, str]:
    """Outcomes one by one, by what they are compared by: refused is refused, whatever the words."""
    return {
        (label, field, variant if variant.endswith(")") else f"{variant} ({short})"): outcome
        if outcome.startswith("0")
        else outcome.partition(" ")[0]
        for label, fields in outcomes.items()
        for field, by_variant in fields.items()
        for variant, outcome in by_variant.items()
        for short in SERIALISATIONS.values()
    }


def listed(places: set[Place]) -> set[Place]:
    """Where differences are expected."""
    return {
        place
        for difference in DIFFERENCES
        for place in places
        if place[0] in difference.requests
        and place[1] in difference.fields
        and (place[2] in difference.variants or place[2].rpartition(" ")[0] in difference.variants)
    }


async def put(server: Server, script: Examination) -> None:
    """Put a script's questions to a server."""
    connections: dict[bool, Client] = {}
    question = next(script)
    while True:
        client = connections.get(question.to_broker)
        if client is None:
            client = server.broker() if question.to_broker else server.name_server()
            connections[question.to_broker] = client
        told = await exchange(client, question)
        if told.code is None:
            del connections[question.to_broker]
        try:
            question = script.send(told)
        except StopIteration:
            return


async def exchange(client: Client, question: ServerRequest) -> ServerAnswer:
    """What came back once the server has come to rest; its own questions are answered meanwhile."""
    await client.write(question.frame)
    while True:
        answers = await client.arrived()
        if answers:
            (answer,) = answers
            assert answer.header.opaque == question.opaque
            return answer_of(answer)
        pushes, client.pushes = client.pushes, []
        if not pushes:
            return ServerAnswer(None, closed=not await client.is_open())
        for push in pushes:
            data = answer_of_client(push.header.opaque, push.header.flag, answer_of(push))
            await client.write(data or b"")


def answer_of(frame: Frame) -> ServerAnswer:
    header = frame.header
    return ServerAnswer(header.code, header.remark or "", header.ext or {}, bytes(frame.body))


@pytest.mark.usefixtures("driver")
async def test_malformed_headers_are_taken_as_apaches_servers_take_them(tmp_path: Path) -> None:
    found = Outcomes()
    # As Apache's defaults are.
    async with serving(tmp_path / "store", broker_cluster_name=CLUSTER, enable_property_filter=False) as server:
        await put(server, examine_all(found))
    file = tmp_path / "accounts.yml"
    file.write_text(ACCOUNTS)
    async with serving(tmp_path / "guarded", acl_enable=True, acl_file=str(file)) as server:
        await put(server, examine_with_accounts(found))
    ours, apaches = by_place(found), by_place(unpacked(HEADER_VARIANTS.read_text("utf-8")))
    places = {*ours, *apaches}
    different = {place for place in places if ours.get(place) != apaches.get(place)}
    expected = listed(places)
    assert {place: (ours.get(place), apaches.get(place)) for place in different - expected} == {}
    assert expected - different == set()


def test_every_header_is_asked_about() -> None:
    with_fields = {int(route.code) for routes in FAMILIES.values() for route in routes if route.header is not None}
    asked = {int(base.code) for base in (*BASES.values(), *GUARDED.values())}
    assert with_fields == asked | set(NOT_SENT)
    assert asked.isdisjoint(NOT_SENT)


def test_outcomes_are_kept_whole() -> None:
    text = HEADER_VARIANTS.read_text("utf-8")
    assert packed(unpacked(text)) == text
