"""TLS on the ports of name server and broker, for who begins with it (docs/tls.md).

No frame begins with the byte that every TLS client's first message begins with. So connections are read as if nobody
spoke TLS, and plain ones cost nothing more; what begins otherwise is handed to the listener with the bytes that came.
The session then goes on over one end of a pair of sockets, and a task in between decrypts and encrypts
(`connection.py`): hub and kernel serve TLS clients as all others.
"""
