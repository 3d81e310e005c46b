"""rocketwire: a RocketMQ name server, broker and store in Python.

The packages `wire`, `store`, `server` and `spark` live at the top of the repository; in this folder they are
relative links, so that nothing called `store` or `server` lands in anybody's site-packages.
"""

__version__ = "0.1.0"
