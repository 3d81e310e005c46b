"""Missing, empty and malformed header fields: our servers treat them as Apache's of 4.9.7.

The exceptions stand in `header_differences`. Apache's outcomes are recorded; `compat_tests/test_header_variants.py`
repeats them.
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
    """Outcomes one by one, in the form that is compared: refused is refused, whatever the remark."""
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
    """The places of expected differences."""
    return {
        place
        for difference in DIFFERENCES
        for place in places
        if place[0] in difference.requests
        and place[1] in difference.fields
        and (place[2] in difference.variants or place[2].rpartition(" ")[0] in difference.variants)
    }


async def put(server: Server, script: Examination) -> None:
    """Send a script's requests to a server."""
    connections: dict[bool, Client] = {}
    request = next(script)
    while True:
        client = connections.get(request.to_broker)
        if client is None:
            client = server.broker() if request.to_broker else server.name_server()
            connections[request.to_broker] = client
        reply = await exchange(client, request)
        if reply.code is None:
            del connections[request.to_broker]
        try:
            request = script.send(reply)
        except StopIteration:
            return


async def exchange(client: Client, request: ServerRequest) -> ServerAnswer:
    """The answer when the server is at rest; requests of the server are answered meanwhile."""
    await client.write(request.frame)
    while True:
        answers = await client.arrived()
        if answers:
            (answer,) = answers
            assert answer.header.opaque == request.opaque
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
async def test_malformed_headers_are_treated_as_by_apaches_servers(tmp_path: Path) -> None:
    found = Outcomes()
    # With Apache's defaults.
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


def test_every_header_has_a_request() -> None:
    with_fields = {int(route.code) for routes in FAMILIES.values() for route in routes if route.header is not None}
    sent = {int(base.code) for base in (*BASES.values(), *GUARDED.values())}
    assert with_fields == sent | set(NOT_SENT)
    assert sent.isdisjoint(NOT_SENT)


def test_packed_outcomes_are_unpacked_unchanged() -> None:
    text = HEADER_VARIANTS.read_text("utf-8")
    assert packed(unpacked(text)) == text
