"""A job on Spark: session, query, run, watch."""
