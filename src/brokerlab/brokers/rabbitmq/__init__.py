"""RabbitMQ: server processes, settings, drivers for AMQP 0.9.1 and for the stream protocol, readings."""
