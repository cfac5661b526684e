"""ActiveMQ Artemis over STOMP."""
