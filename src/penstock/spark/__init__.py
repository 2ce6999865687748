"""Runs a program on Spark: one Structured Streaming query whose Python workers are the program's PEs."""
