"""The PEs in Spark's Python workers."""
