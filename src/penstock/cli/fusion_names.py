"""The words that `--fusion` takes; apart from the choice itself, so that `--help` need not load it."""

AUTO = "auto"
FUSIONS = (AUTO, "none", "all", "manual", "greedy", "cola", "advanced-cola", "exact", "throughput")
