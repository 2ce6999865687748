"""Savepoints of jobs on Spark: taken from a checkpoint, and made the start of another plan."""
