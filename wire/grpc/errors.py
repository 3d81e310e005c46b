"""Why a call is refused."""

from rocketwire.wire.errors import WireError
from rocketwire.wire.grpc.codes import Code


class CallInvalid(WireError):
    """A call, or an entry of one, that is not what the protocol says.

    Attributes:
        code: The code of the answer; the text is its message.
    """

    def __init__(self, code: Code, text: str) -> None:
        """Take both."""
        super().__init__(text)
        self.code = code
