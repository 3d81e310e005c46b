"""The benchmark of rocketwire and Apache's broker, side by side: `python -m bench` (see docs/benchmarks.md).

It measures and prints; it asserts nothing.
"""
