"""Placement on Spark: where the state of a job's partitions is to be loaded, and who runs what."""
