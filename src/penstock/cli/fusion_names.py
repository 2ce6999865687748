"""The words that `--fusion` takes; apart from the choice itself, so that `--help` need not load it."""

FUSIONS = ("auto", "none", "all", "manual", "greedy", "cola", "advanced-cola", "exact", "throughput")
