import pytest

from rocketwire.wire.grpc import definition_pb2
from rocketwire.wire.grpc.codes import CallInvalid, Code
from rocketwire.wire.grpc.filters import read_filter
from tests.wire import golden

#: Tag expressions that name no tag, and blank SQL. Apache's proxy takes them; then nothing, or an error, comes.
_REFUSED = {("TAG", "|| ||"), ("TAG", " "), ("SQL", " ")}


@pytest.mark.parametrize(("kind", "text", "read_kind", "read_text"), golden.grpc_cases("filters"))
def test_filters_are_apaches(kind: str, text: str, read_kind: str | None, read_text: str) -> None:
    expression = definition_pb2.FilterExpression(expression=text, type=kind)
    if read_kind is None or (kind.replace("FILTER_TYPE_UNSPECIFIED", "TAG"), text) in _REFUSED:
        with pytest.raises(CallInvalid) as raised:
            read_filter(expression)
        assert raised.value.code is Code.ILLEGAL_FILTER_EXPRESSION
    else:
        assert read_filter(expression) == (read_kind, read_text)
