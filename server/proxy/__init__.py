"""One address in front of a cluster far away: remoting clients are relayed to its brokers, frame by frame."""
