"""What a run of the scenarios found: the model of `results.json`, which every report is made of.

The file `results.schema.json` beside this one is the JSON Schema of the same model, made from these classes by
`python -m tools.generated`. Unknown fields are ignored, so that a later release can add some.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

SCHEMA: Final = "rocketwire-compat-1"
"""The name of the format, in each file's field `schema`."""

Seconds = Annotated[float, Meta(ge=0)]
Wall = Annotated[int, Meta(ge=0)]


class ResultsInvalid(Exception):
    """A text is not results of a run, or its parts do not belong together; the error is one line with the place."""


class Outcome(StrEnum):
    """How a scenario went for one client."""

    PASS = "pass"
    DIFFERS = "differs"
    """It ran, and an assertion about the endpoint's behaviour did not hold."""
    FAILS = "fails"
    """The client threw, or did not end in time."""
    FLAKY = "flaky"
    """It did not pass, and passed when it ran again."""
    NOT_OFFERED = "not offered"
    """The endpoint's settings, or the client, lack what it needs."""


class Side(StrEnum):
    """What the clients talked to."""

    ENDPOINT = "endpoint"
    REFERENCE = "reference"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What was tested."""

    namesrv: Annotated[str, Meta(description="HOST:PORT of the name server, as it was given.")]
    name: Annotated[str, Meta(description="What it says it is, such as `Apache RocketMQ 4.9.7`.")]
    settings: Annotated[
        tuple[str, ...], Meta(description="What was found out about it, one line each, such as `ACL off`.")
    ] = ()


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """The endpoint that the same scenarios ran against, for comparison."""

    name: Annotated[str, Meta(description="Such as `Apache RocketMQ 4.9.7`.")]


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A client in one version."""

    id: Annotated[str, Meta(description="Such as `java-4.9.7`.")]
    name: Annotated[str, Meta(description="Such as `Apache's Java client`.")]
    version: str
    language: str
    where: Annotated[Literal["host", "container"], Meta(description="Where it ran.")]


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """A part of what an endpoint does; scenarios are grouped by it."""

    id: str
    name: str


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A use of a client, with a claim about what it sees."""

    id: Annotated[str, Meta(description="Such as `send.sync`.")]
    feature: Annotated[str, Meta(description="The id of its feature.")]
    proves: Annotated[str, Meta(description="The claim.")]
    source: Annotated[str, Meta(description="Where the claim comes from.")]
    needs: Annotated[tuple[str, ...], Meta(description="What the endpoint must have, such as `sql`.")] = ()
    limit: Annotated[float, Meta(ge=0, description="How long it may take, in seconds.")]
    ours_only: Annotated[
        bool, Meta(description="Whether it claims what only rocketwire does, so that the reference may fail it.")
    ] = False


class Frame(msgspec.Struct, frozen=True, kw_only=True, rename={"sender": "from"}):
    """A frame that passed between client and endpoint."""

    at: Annotated[int, Meta(ge=0, description="When, in ms since the epoch.")]
    connection: Annotated[int, Meta(ge=0, description="The connection's number.")]
    sender: Literal["client", "endpoint"]
    summary: Annotated[str, Meta(description="One line.")]
    detail: Annotated[str, Meta(description="The decoded frame, as text.")]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a scenario."""

    passed: bool
    seconds: Seconds
    error: Annotated[str, Meta(description="The traceback with its values; empty where it passed.")] = ""
    log: Annotated[str, Meta(description="What the client logged.")] = ""
    frames: Annotated[
        tuple[Frame, ...], Meta(description="What passed, in order; recorded where an earlier attempt did not pass.")
    ] = ()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where the frames differ from those of the reference."""

    expected: Annotated[str | None, Meta(description="The reference's; null where it has none.")]
    actual: Annotated[str | None, Meta(description="The endpoint's; null where it has none.")]
    where: Annotated[str, Meta(description="The frame and its field, one line.")]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How one scenario went for one client on one side."""

    scenario: Annotated[str, Meta(description="The scenario's id.")]
    client: Annotated[str, Meta(description="The client's id.")]
    side: Side
    outcome: Outcome
    reason: Annotated[str, Meta(description="Why it did not pass or is not offered: one line, or empty.")] = ""
    seconds: Seconds
    attempts: tuple[Attempt, ...] = ()
    frame_diff: tuple[Difference, ...] = ()


class Results(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """What a run found."""

    started: Annotated[int, Meta(ge=0, description="When it began, in ms since the epoch.")]
    seconds: Annotated[float, Meta(ge=0, description="How long it took.")]
    version: Annotated[str, Meta(description="The version of rocketwire that ran the scenarios.")]
    endpoint: Endpoint
    reference: Reference | None
    clients: Annotated[tuple[Client, ...], Meta(description="In the order of the report.")]
    features: Annotated[tuple[Feature, ...], Meta(description="In the order of the report.")]
    scenarios: Annotated[tuple[Scenario, ...], Meta(description="In the order of the report.")]
    results: Annotated[
        tuple[Result, ...], Meta(description="At most one of each scenario, client and side, in any order.")
    ]

    def to_json(self) -> bytes:
        """The file's content."""
        try:
            data = msgspec.json.encode(self)
        except UnicodeEncodeError:
            # A log that was not UTF-8: what could not be decoded becomes `?`.
            data = json.dumps(msgspec.to_builtins(self), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.format(data, indent=1) + b"\n"


class _Named(msgspec.Struct):
    schema: str = ""


def from_json(text: bytes | str) -> Results:
    """The results in the content of a file.

    Raises:
        ResultsInvalid: It is not JSON, not of this format, or names something that it does not have.
    """
    try:
        name = msgspec.json.decode(text, type=_Named).schema
        if name != SCHEMA:
            raise ResultsInvalid(f"the field `schema` is {name!r}, not {SCHEMA!r}")
        found = msgspec.json.decode(text, type=Results)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ResultsInvalid(str(error)) from error
    check(found)
    return found


def check(results: Results) -> None:
    """Check that every id that is named exists, and nothing occurs twice.

    Raises:
        ResultsInvalid: It is not so.
    """
    features = _distinct("feature", (each.id for each in results.features))
    scenarios = _distinct("scenario", (each.id for each in results.scenarios))
    clients = _distinct("client", (each.id for each in results.clients))
    for each in results.scenarios:
        _known("feature", each.feature, features)
    cells = set()
    for result in results.results:
        _known("scenario", result.scenario, scenarios)
        _known("client", result.client, clients)
        cell = (result.scenario, result.client, result.side)
        if cell in cells:
            raise ResultsInvalid(f"two results of {result.scenario} for {result.client} on the side {result.side}")
        cells.add(cell)
        if result.side is Side.REFERENCE and results.reference is None:
            raise ResultsInvalid(f"a result of {result.scenario} is the reference's, and there is no reference")


def _distinct(what: str, ids: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for each in ids:
        if each in found:
            raise ResultsInvalid(f"two entries of {what} {each!r}")
        found.add(each)
    return found


def _known(what: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise ResultsInvalid(f"there is no {what} {name!r}")


def schema_text() -> str:
    """The JSON Schema (2020-12) of the format; it cannot check that the ids belong together, as `check` does."""
    made = msgspec.json.schema(Results)
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **made}
    return json.dumps(named, indent=2) + "\n"
