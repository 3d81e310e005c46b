"""The official clients of 5.x, which speak gRPC: `rocketwire.compat.sdk` describes their programs.

Their programs are few and small: what a scenario does with a consumer, it does in steps, and the consumer stays open in
the client's process from one program to the next.
"""
