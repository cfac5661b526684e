"""Amazon SQS by its JSON protocol; ElasticMQ where no other is given."""
