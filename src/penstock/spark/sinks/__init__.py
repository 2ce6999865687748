"""Sinks on Spark: the PE in the driver that writes each batch exactly once, in order."""
