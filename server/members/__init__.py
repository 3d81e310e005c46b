"""One of several brokers of `rocketwire serve --brokers N`: what it tells the others, and what it knows of them.

Begin with `link`, its connection to the supervisor's process; `siblings` has the other brokers' topics and addresses,
`news` the messages between both.
May import: every room that its layer allows (pyproject.toml); `store`, `wire`.
"""
