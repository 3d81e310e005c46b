import pytest

from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.polling import polling_ms


@pytest.mark.parametrize(
    ("wanted", "remaining", "polling"),
    [
        (15_000, 18_000, 15_000),
        (0, 18_000, 5_000),
        (60_000, 90_000, 20_000),
        (15_000, 10_000, 10_000),
        (None, 18_000, 16_500),
        (None, 90_000, 20_000),
        (None, 5_000, 5_000),
        (None, None, 20_000),
        (7_000, None, 7_000),
    ],
)
def test_the_time_to_wait(wanted: int | None, remaining: int | None, polling: int) -> None:
    assert polling_ms(wanted, remaining, request_timeout=3_000) == polling


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (None, Code.BAD_REQUEST),
        ("5.0.2", Code.BAD_REQUEST),
        ("5.0.3", Code.ILLEGAL_POLLING_TIME),
        ("5.2.0", Code.ILLEGAL_POLLING_TIME),
    ],
)
def test_a_deadline_that_comes_too_soon(version: str | None, code: Code) -> None:
    with pytest.raises(CallInvalid, match="deadline") as raised:
        polling_ms(20_000, 4_999, request_timeout=3_000, client_version=version)
    assert raised.value.code is code
