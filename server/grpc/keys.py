"""Keys of the front for 5.x clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.keys import OURS, ConfigError, key
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.java import INT32_MAX

AUTO: Final = "auto"
NOWHERE: Final = "none"
DEFAULT_ADDRESS: Final = Address(host="127.0.0.1", port=8081)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcKeys:
    """The address for 5.x clients, and the limits of their calls."""

    grpc_listen: str = key(
        f"host:port for 5.x clients; `{AUTO}`: {DEFAULT_ADDRESS} if free; `{NOWHERE}`: the broker's port",
        default=AUTO,
        known=OURS,
    )
    max_delay_time_mills: int = key(
        "ms ahead that a 5.x client may send for; 0: as the broker allows (`timerMaxDelaySec`)",
        default=0,
        high=INT32_MAX * 1000,
        online=True,
        known=OURS,
    )

    def __post_init__(self) -> None:
        """Check the address.

        Raises:
            ConfigError: it is none.
        """
        try:
            _ = self.address
        except AddressInvalid as error:
            raise ConfigError(f"grpcListen={self.grpc_listen}: {error}") from error

    @property
    def automatic(self) -> bool:
        """Whether the default address is to be taken, if it is free."""
        return self.grpc_listen == AUTO

    @property
    def address(self) -> Address | None:
        """The address that is to be taken; None: the default one, or none."""
        return None if self.grpc_listen in {AUTO, NOWHERE} else parse_address(self.grpc_listen)
