"""A standalone cluster of Spark's on loopback addresses of this machine, for trying things."""
