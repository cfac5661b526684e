"""Apache RocketMQ over its remoting protocol."""
