"""Compatibility tests: unmodified official RocketMQ clients against an endpoint.

`catalogue` is what users get, as `rocketwire.compat`: scenarios, clients and Apache's brokers. This package has what
only this repository needs: `endpoints` starts what the clients talk to, `programs` chooses where Java runs, `install`
fetches all.
"""
