"""Sources on Spark: planning batches, reading them, the log of what each batch holds."""
