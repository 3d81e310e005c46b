"""The protocol of 5.x clients, `apache.rocketmq.v2`: its messages, and what they are in the remoting protocol."""
