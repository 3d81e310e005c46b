"""A small HTTP server for operators and monitoring; no RocketMQ client uses it.

Begin with `server`; `messages` has the request and the response of a handler.
May import: `core`, `config`.
"""
