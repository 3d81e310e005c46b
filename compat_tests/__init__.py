"""Compatibility tests: unmodified official RocketMQ clients against an endpoint.

`artifacts` fetches what they need, `image` builds the container they run in, `endpoints` starts
what they talk to (rocketwire, or Apache's own broker), `clients` runs one scenario and gives its
JSON lines back; the `test_*` files say what each scenario must print.
"""
