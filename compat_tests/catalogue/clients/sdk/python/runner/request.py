"""A program's name and arguments, the messages and the endpoint that they describe."""

from __future__ import annotations

from rocketmq import ClientConfiguration, Credentials, FilterExpression, Message
from rocketmq.grpc_protocol import FilterType
from runner.shared import Arguments, body_of, due_of


class Request(Arguments):  # type: ignore[misc]
    """A program's name and arguments."""

    __slots__ = ()

    def configuration(self) -> ClientConfiguration:
        """Where the endpoint is, and the account, where it has accounts."""
        account = Credentials(self.text("accessKey", ""), self.text("secretKey", ""))
        return ClientConfiguration(self.text("endpoints"), account, request_timeout=self.number("timeout", 10))

    def subscriptions(self) -> dict[str, FilterExpression]:
        """The topics of a consumer, all with the one expression: tags, or `sql`."""
        expression = FilterExpression(self.text("expression", "*"))
        if self.all("sql"):
            expression = FilterExpression(self.text("sql"), FilterType.SQL)
        return dict.fromkeys(self.all("topic"), expression)

    def messages(self) -> list[Message]:
        """The messages that it describes."""
        return [_message(self.text("topic"), fields) for fields in self.message_fields()]


def _message(topic: str, fields: dict[str, str]) -> Message:
    message = Message()
    message.topic = topic
    message.body = body_of(fields)
    if "tags" in fields:
        message.tag = fields["tags"]
    for key in fields.get("keys", "").split():
        message.keys = key  # adds one
    if "group" in fields:
        message.message_group = fields["group"]
    if "due" in fields:
        message.delivery_timestamp = -(-due_of(fields["due"]) // 1000)  # s
    for key, value in fields.items():
        if key.startswith("p."):
            message.add_property(key[2:], value)
    return message
