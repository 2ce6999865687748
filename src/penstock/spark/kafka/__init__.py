"""Kafka by Spark's own connector."""
