"""PEs, sources and sinks at work, whatever engine runs them: what Spark's workers and the local engine share."""
