"""The words that `--fusion` and `--loops` take; apart from the choices themselves, so that `--help` loads neither."""

AUTO = "auto"
FUSIONS = (AUTO, "none", "all", "manual", "greedy", "cola", "advanced-cola", "exact", "throughput")
WITHOUT_COSTS = ("all", "none", "manual")
"""The fusions that need no profile."""

LOOPS = (AUTO, "inside", "batches")
