"""rocketwire: a RocketMQ name server, broker and store in Python.

The packages `rocketwire.wire`, `rocketwire.store`, `rocketwire.server` and `rocketwire.spark` live at the top of the
repository; here they are relative links, so that nothing called `store` or `server` lands in anybody's site-packages.
"""

__version__ = "0.1.0"
