"""From the cut graph to the Python modules of its PEs: physical plan, how tuples travel, generated code. No Spark."""
