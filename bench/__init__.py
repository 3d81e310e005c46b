"""rocketwire and the Apache broker side by side: `python -m bench` (see docs/benchmarks.md).

It measures and prints; it asserts nothing.
"""
