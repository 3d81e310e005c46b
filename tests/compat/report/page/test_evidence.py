import base64
import json
import zlib
from typing import Any

import pytest

from rocketwire.compat.report.page.evidence import LIMITS, NOTHING, Evidence, evidence
from rocketwire.compat.results import Outcome, Results
from tests.compat.report.examples import large, small

RESULTS = large(clients=1, evidence=20, bad=0.05)


def blocks(found: Evidence) -> dict[str, Any]:
    return {name: json.loads(zlib.decompress(base64.b64decode(block))) for name, block in found.blocks.items()}


def size(found: Evidence) -> int:
    return sum(len(block) for block in found.blocks.values())


def test_a_smaller_budget_cuts_more() -> None:
    found = evidence(RESULTS, 20_000_000)
    seen = [found]
    while found != NOTHING:
        found = evidence(RESULTS, size(found) - 1)
        seen.append(found)
    assert [each.limits for each in seen] == [*LIMITS, LIMITS[-1]]
    assert all(each.was_cut for each in seen)
    assert str(NOTHING.limits) == "No logs and no frames are kept here"


def test_of_many_frames_the_first_and_the_last_are_kept() -> None:
    found = evidence(RESULTS, 20_000_000)
    attempts = [each for cells in blocks(found).values() for cell in cells.values() for each in cell["attempts"]]
    (most,) = {len(each["frames"]) for each in attempts if each["of"] > found.limits.frames}
    assert most == found.limits.frames == 400
    long = next(each for each in attempts if each["of"] == 480)
    assert long["frames"][0][0] == 0
    assert [
        each[3].split("opaque=")[1].split()[0].strip(",") for each in (long["frames"][99], long["frames"][100])
    ] == [
        "49",
        "90",
    ]
    assert "characters are cut here" in long["log"]


@pytest.mark.parametrize("budget", [0, 100])
def test_without_evidence_nothing_is_missing(budget: int) -> None:
    results = small(Outcome.PASS)
    fields = {name: getattr(results, name) for name in results.__struct_fields__}
    found = evidence(Results(**{**fields, "results": ()}), budget)
    assert found == Evidence(blocks={}, limits=LIMITS[0], was_cut=False)
