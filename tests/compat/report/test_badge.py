from xml.etree.ElementTree import fromstring

import pytest

from rocketwire.compat.report.badge import badge
from rocketwire.compat.results import Outcome
from tests.compat.report.examples import small

SVG = "{http://www.w3.org/2000/svg}"


def contrast_with_white(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


@pytest.mark.parametrize(
    ("passed", "failed", "shown", "colour"),
    [
        (1, 0, "100 %", "#2a7a45"),
        (97, 3, "97 %", "#5a7310"),
        (8, 2, "80 %", "#8a6100"),
        (6, 4, "60 %", "#a84d0b"),
        (0, 1, "0 %", "#b3261e"),
        (0, 0, "no result", "#5f6670"),
    ],
)
def test_the_badge_shows_the_score(passed: int, failed: int, shown: str, colour: str) -> None:
    image = fromstring(badge(small(*[Outcome.PASS] * passed, *[Outcome.FAILS] * failed)))
    assert [each.text for each in image.iter(f"{SVG}text")] == ["compat", shown]
    assert [each.text for each in image.iter(f"{SVG}title")] == [
        f"compat: {shown}, {passed} of {passed + failed} passed"
    ]
    assert image.get("role") == "img"
    fills = [each.get("fill") or "" for each in image.iter(f"{SVG}rect") if each.get("fill")]
    assert fills[1] == colour
    assert all(contrast_with_white(each) >= 4.5 for each in fills)
