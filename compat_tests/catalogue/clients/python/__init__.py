"""rocketwire's own client, `rocketwire.remoting`."""
