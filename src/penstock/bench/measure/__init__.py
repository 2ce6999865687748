"""How the experiments measure: on Spark, in this process, and the memory of processes."""
