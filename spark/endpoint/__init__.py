"""Messages from a running endpoint and to one, this or Apache's, over its protocol: the option `namesrv`."""
