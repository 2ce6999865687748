"""The operators that exchange tuples with the world: files, Kafka, PostgreSQL, TCP, other applications."""
