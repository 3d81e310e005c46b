import pytest

from rocketwire.wire.facts import codes
from rocketwire.wire.facts.codes import Permission, RequestCode, ResponseCode, permission_text, version_name
from tests.wire import golden


def test_request_codes_are_complete() -> None:
    assert {row["name"]: int(row["code"]) for row in golden.table("request_codes")} == {
        each.name: each.value for each in RequestCode
    }


def test_response_codes_are_complete_with_the_meanings_of_4_9() -> None:
    expected = {row["name"]: int(row["code"]) for row in golden.table("response_codes")}
    for later in ("POLLING_FULL", "POLLING_TIMEOUT", "BROKER_NOT_EXIST"):
        del expected[later]
    assert expected == {each.name: each.value for each in ResponseCode}


@pytest.mark.parametrize(
    ("permission", "text"),
    [(0, "---"), (2, "-W-"), (4, "R--"), (6, "RW-"), (7, "RWX"), (1, "--X"), (Permission.PRIORITY, "---")],
)
def test_permission_text(permission: int, text: str) -> None:
    assert permission_text(permission) == text


@pytest.mark.parametrize(
    ("ordinal", "name"),
    [
        (0, "V3_X"),
        (211, "V3_X"),
        (212, "V4_0_0_SNAPSHOT"),
        (213, "V4_0_0"),
        (214, "V4_0_1_SNAPSHOT"),
        (393, "V4_9_0"),
        (401, "V4_9_4"),
        (codes.STRICT_JSON_VERSION, "V4_9_4"),
        (codes.VERSION_4_9_7, "V4_9_7"),
        (412, "V5_0_0_SNAPSHOT"),
        (413, "V5_0_0"),
        (513, "V5_5_0"),
        (612, "HIGHER_VERSION"),
        (9999, "HIGHER_VERSION"),
    ],
)
def test_version_name(ordinal: int, name: str) -> None:
    assert version_name(ordinal) == name


def test_language_codes_are_the_languages_turned_around() -> None:
    assert codes.LANGUAGE_CODES["GO"] == 9
    assert len(codes.LANGUAGE_CODES) == len(codes.LANGUAGES)
