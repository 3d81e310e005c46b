import struct

import pytest
from hyperframe.frame import SettingsFrame, WindowUpdateFrame

from rocketwire.wire.http2.events import FLOW_CONTROL_ERROR, PROTOCOL_ERROR
from rocketwire.wire.http2.guard import Http2Violation
from rocketwire.wire.http2.settings import begin, new_window


def payload(*settings: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">HL", *setting) for setting in settings)


def test_the_last_window_counts() -> None:
    assert new_window(payload()) is None
    assert new_window(payload((1, 0), (2, 1), (3, 0), (5, 1 << 14), (6, 9), (8, 0), (77, 1 << 31))) is None
    assert new_window(payload((4, 5), (5, (1 << 24) - 1), (4, (1 << 31) - 1))) == (1 << 31) - 1


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        (2, 2, PROTOCOL_ERROR),
        (4, 1 << 31, FLOW_CONTROL_ERROR),
        (5, (1 << 14) - 1, PROTOCOL_ERROR),
        (5, 1 << 24, PROTOCOL_ERROR),
        (8, 2, PROTOCOL_ERROR),
    ],
)
def test_values_that_no_setting_has(setting: int, value: int, code: int) -> None:
    with pytest.raises(Http2Violation) as raised:
        new_window(payload((4, 1), (setting, value)))
    assert raised.value.code == code


def test_what_a_server_begins_with() -> None:
    said = begin(max_streams=7, max_header_list=8, window=65_536, stream_window=65_535)
    settings = SettingsFrame(0, {2: 0, 3: 7, 4: 65_535, 6: 8}).serialize()
    assert said == settings + WindowUpdateFrame(0, window_increment=1).serialize()
    assert begin(max_streams=7, max_header_list=8, window=65_535, stream_window=65_535) == settings
