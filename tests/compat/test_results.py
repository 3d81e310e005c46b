import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rocketwire.compat.results import Outcome, Results, ResultsInvalid, check, from_json, schema_text
from tests.compat.report.examples import hostile, large, small

SCHEMA = json.loads(schema_text())
VALIDATOR = Draft202012Validator(SCHEMA)
FILE = Path(__file__).resolve().parents[2] / "compat_tests" / "catalogue" / "results.schema.json"

TEXT = st.text(max_size=8)
NUMBER = st.floats(min_value=0, max_value=1e9, allow_nan=False)
WHOLE = st.integers(min_value=0, max_value=2**53)
FRAMES = st.fixed_dictionaries(
    {"at": WHOLE, "connection": WHOLE, "from": st.sampled_from(["client", "endpoint"]), "summary": TEXT, "detail": TEXT}
)
ATTEMPTS = st.fixed_dictionaries(
    {"passed": st.booleans(), "seconds": NUMBER},
    optional={"error": TEXT, "log": TEXT, "frames": st.lists(FRAMES, max_size=2)},
)
DIFFERENCES = st.fixed_dictionaries({"expected": st.none() | TEXT, "actual": st.none() | TEXT, "where": TEXT})


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Files whose parts belong together."""
    clients, features, scenarios = (draw(st.lists(TEXT, min_size=1, max_size=2, unique=True)) for _ in range(3))
    reference = draw(st.none() | st.fixed_dictionaries({"name": TEXT}))
    sides = ["endpoint"] if reference is None else ["endpoint", "reference"]
    cells = [(scenario, client, side) for scenario in scenarios for client in clients for side in sides]
    return {
        "schema": "rocketwire-compat-1",
        "started": draw(WHOLE),
        "seconds": draw(NUMBER),
        "version": draw(TEXT),
        "endpoint": {"namesrv": draw(TEXT), "name": draw(TEXT), "settings": draw(st.lists(TEXT, max_size=2))},
        "reference": reference,
        "clients": [
            {
                "id": each,
                "name": draw(TEXT),
                "version": draw(TEXT),
                "language": draw(TEXT),
                "where": draw(st.sampled_from(["host", "container"])),
            }
            for each in clients
        ],
        "features": [{"id": each, "name": draw(TEXT)} for each in features],
        "scenarios": [
            {
                "id": each,
                "feature": draw(st.sampled_from(features)),
                "proves": draw(TEXT),
                "source": draw(TEXT),
                "needs": draw(st.lists(TEXT, max_size=2)),
                "limit": draw(NUMBER),
                "ours_only": draw(st.booleans()),
            }
            for each in scenarios
        ],
        "results": [
            {
                "scenario": scenario,
                "client": client,
                "side": side,
                "outcome": draw(st.sampled_from(["pass", "differs", "fails", "flaky", "not offered"])),
                "reason": draw(TEXT),
                "seconds": draw(NUMBER),
                "attempts": draw(st.lists(ATTEMPTS, max_size=2)),
                "frame_diff": draw(st.lists(DIFFERENCES, max_size=2)),
            }
            for scenario, client, side in draw(st.lists(st.sampled_from(cells), unique=True, max_size=3))
        ],
    }


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert FILE.read_text(encoding="utf-8") == schema_text()


@given(documents())
def test_what_is_read_is_written_the_same_and_fits_the_schema(document: dict[str, Any]) -> None:
    found = from_json(json.dumps(document))
    again = json.loads(found.to_json())
    VALIDATOR.validate(document)
    VALIDATOR.validate(again)
    assert from_json(found.to_json()) == found
    for result in again["results"]:
        for attempt in result["attempts"]:  # the optional ones are written, too
            assert set(attempt) == {"passed", "seconds", "error", "log", "frames"}
    assert {**again, "results": []} == {**document, "results": []}


WRONG: list[Any] = [None, -1, "x", [], {}, True, 1.5]


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """A file with one value replaced, or one field left out."""
    document: Any = draw(documents())
    node = document
    while True:
        places = list(node) if isinstance(node, dict) else list(range(len(node)))
        place = draw(st.sampled_from(places))
        if isinstance(node[place], dict | list) and node[place] and draw(st.booleans()):
            node = node[place]
        elif draw(st.booleans()):
            node[place] = draw(st.sampled_from(WRONG))
            return document
        else:
            del node[place]
            return document


@given(spoiled())
def test_reader_and_schema_refuse_the_same(document: Any) -> None:
    try:
        msgspec.json.decode(json.dumps(document), type=Results)
        reads = document.get("schema") == "rocketwire-compat-1"
    except msgspec.ValidationError:
        reads = False
    assert reads == VALIDATOR.is_valid(document)


@pytest.mark.parametrize("results", [large(clients=2), small(*Outcome), hostile()], ids=["large", "small", "hostile"])
def test_examples_fit(results: Results) -> None:
    check(results)
    VALIDATOR.validate(json.loads(results.to_json()))
    assert from_json(results.to_json()) == results


def test_unknown_fields_are_skipped() -> None:
    document = json.loads(small(Outcome.PASS).to_json())
    document["later"] = document["results"][0]["later"] = 1
    VALIDATOR.validate(document)
    assert from_json(json.dumps(document)) == small(Outcome.PASS)


def test_what_no_utf8_is_becomes_a_question_mark() -> None:
    results = small(Outcome.FAILS, reason="log \udcff end")
    assert from_json(results.to_json()).results[0].reason == "log ? end"


def changed(**fields: Any) -> bytes:
    document = json.loads(small(Outcome.PASS, Outcome.PASS).to_json())
    for name, value in fields.items():
        document[name] = value if name != "results" else [{**document["results"][0], **value}, document["results"][1]]
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "Input data was truncated"),
        (b"\xff", "JSON is malformed"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "the field `schema` is '', not 'rocketwire-compat-1'"),
        (changed(seconds=-1), r"Expected `float` >= 0.0 - at `\$.seconds`"),
        (changed(results={"outcome": "odd"}), r"Invalid enum value 'odd' - at `\$.results\[0\].outcome`"),
        (changed(results={"scenario": "x"}), "there is no scenario 'x'"),
        (changed(results={"client": "x"}), "there is no client 'x'"),
        (changed(features=[]), "there is no feature 'send'"),
        (changed(features=[{"id": "send", "name": ""}] * 2), "two entries of feature 'send'"),
        (changed(results={"scenario": "send.s1"}), "two results of send.s1 for java-4.9.7 on the side endpoint"),
        (changed(results={"side": "reference"}), "a result of send.s0 is the reference's, and there is no reference"),
    ],
)
def test_what_is_wrong_is_one_line(text: bytes, said: str) -> None:
    with pytest.raises(ResultsInvalid, match=said):
        from_json(text)
