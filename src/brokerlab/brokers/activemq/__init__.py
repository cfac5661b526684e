"""ActiveMQ Classic over STOMP."""
