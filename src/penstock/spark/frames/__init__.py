"""DataFrames in and out: applications as functions between the DataFrames of a PySpark program."""
