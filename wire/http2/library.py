"""The library h2, as a server of gRPC calls uses it."""

from __future__ import annotations

from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from rocketwire.wire.http2.events import STREAM_WINDOW

_CONFIG: Final = H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_inbound_headers=False,  # `requests` does, and resets the stream only; h2 would end the connection
    normalize_inbound_headers=False,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)
_FEW_STREAMS: Final = 64


class Library(H2Connection):
    """h2, which goes through all streams whenever a new one begins: this class does so when they have doubled."""

    def __init__(self, *, max_header_list: int, max_streams: int, window: int, stream_window: int) -> None:
        super().__init__(_CONFIG)
        self._sweep_at = _FEW_STREAMS
        self.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.MAX_CONCURRENT_STREAMS: max_streams,
                SettingCodes.INITIAL_WINDOW_SIZE: stream_window,
                SettingCodes.MAX_HEADER_LIST_SIZE: max_header_list,
            },
        )
        self.decoder.max_header_list_size = max_header_list
        self.initiate_connection()
        if window > STREAM_WINDOW:
            self.increment_flow_control_window(window - STREAM_WINDOW)

    @property
    def open_inbound_streams(self) -> int:
        """None, as far as h2's own limit is concerned: the connection counts its calls itself."""
        if len(self.streams) >= self._sweep_at:
            self._sweep_at = 2 * super().open_inbound_streams + _FEW_STREAMS  # which forgets those that are closed
        return 0
