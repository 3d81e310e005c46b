"""TLS on the ports of name server and broker, for clients that begin it (docs/tls.md).

No frame begins with the byte that begins every TLS client's first message. So connections are read as plain ones, at no
extra cost; when one begins with TLS, its first bytes go to the listener. The session then continues over one end of a
socket pair, and a task in between encrypts and decrypts (`connection.py`): hub and kernel serve TLS clients like all
others. `client.py` is for connections that a proxy makes itself.

Begin with `gate`, by which a listener admits clients to TLS; `connection` is one of them, `engine` TLS without a
socket.
May import: `core`, `config`; `wire`.
"""
