"""Keys of timer messages."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import NEWER, key


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerKeys:
    """Whether timer messages are accepted and recalled, and the files that hold them."""

    timer_wheel_enable: bool = key("accept timer messages; else they are refused", default=True, known=NEWER)
    timer_precision_ms: int = key(
        "ms of a slot of the timer's wheel, a multiple of 10; delivery is still exact to the ms",
        default=1000,
        form=("1000|500|200|100", "1000, 500, 200 or 100"),
        known=NEWER,
    )
    timer_roll_window_slot: int = key(
        "slots; a message that waits longer is stored again after so many, to outlive the log",
        default=172_800,
        low=2,
        known=NEWER,
    )
    timer_max_delay_sec: int = key(
        "most seconds a message may wait for its time", default=40 * 86_400, online=True, known=NEWER
    )
    mapped_file_size_timer_log: int = key("bytes of a timer log file", default=100 << 20, low=52, known=NEWER)
    timer_flush_interval_ms: int = key("ms between two checkpoints of the timer", default=1000, low=1, known=NEWER)
    recall_message_enable: bool = key("allow recalling timer messages (370)", default=True, online=True, known=NEWER)
