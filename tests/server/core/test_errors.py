from __future__ import annotations

import inspect

import pytest

from rocketwire.server.core import errors
from rocketwire.server.core.errors import RESPONSE_CODES, ServerError, response_code
from rocketwire.store.errors import DiskFull, RecordTooLarge, StoreError, TopicUnusable
from rocketwire.wire.errors import BatchInvalid, CompressionUnknown, HeaderFieldMissing, WireError
from rocketwire.wire.facts.codes import ResponseCode

CLASSES = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, ServerError) and each is not ServerError
]


@pytest.mark.parametrize("error", CLASSES, ids=lambda each: each.__name__)
def test_every_error_of_the_server_has_its_code(error: type[ServerError]) -> None:
    assert error in RESPONSE_CODES


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.RequestUnsupported(99), ResponseCode.REQUEST_CODE_NOT_SUPPORTED),
        (errors.TopicNotFound("T"), ResponseCode.TOPIC_NOT_EXIST),
        (errors.ServiceUnavailable("full"), ResponseCode.SERVICE_NOT_AVAILABLE),
        (errors.GroupNotFound("G"), ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST),
        (BatchInvalid("cut"), ResponseCode.MESSAGE_ILLEGAL),
        (CompressionUnknown(5), ResponseCode.MESSAGE_ILLEGAL),
        (HeaderFieldMissing("H", "f"), ResponseCode.SYSTEM_ERROR),
        (WireError("x"), ResponseCode.SYSTEM_ERROR),
        (StoreError("x"), ResponseCode.SYSTEM_ERROR),
        (DiskFull("p", "r"), ResponseCode.SYSTEM_ERROR),
        (RecordTooLarge(2, 1), ResponseCode.MESSAGE_ILLEGAL),
        (TopicUnusable("/"), ResponseCode.MESSAGE_ILLEGAL),
        (ServerError("x"), ResponseCode.SYSTEM_ERROR),
        (ZeroDivisionError(), ResponseCode.SYSTEM_ERROR),
    ],
    ids=repr,
)
def test_the_nearest_class_decides(error: Exception, code: ResponseCode) -> None:
    assert response_code(error) is code


def test_remarks_equal_apaches() -> None:
    faq = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
    assert str(errors.RequestUnsupported(99)) == " request type 99 not supported"
    assert str(errors.TopicNotFound("T")) == f"topic[T] not exist, apply first please!{faq}"
    assert str(errors.RouteNotFound("T")) == f"No topic route info in name server for the topic: T{faq}"
    assert str(errors.GroupNotFound("G")) == f"subscription group [G] does not exist, {faq}"
    assert str(errors.SubscriptionNotLatest()) == "the consumer's subscription not latest"
