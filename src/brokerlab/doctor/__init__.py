"""`brokerlab doctor`: what this machine has, lacks and can do, each problem with the command that fixes it."""
