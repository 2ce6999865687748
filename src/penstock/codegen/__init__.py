"""From the cut graph to the Python modules of its PEs: the physical plan, how tuples travel, generated code. No Spark."""
