"""Calls of 5.x clients in front of a cluster far away: the methods of `server.grpc` over remoting connections."""
