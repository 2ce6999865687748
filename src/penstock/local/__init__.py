"""The generated code in one process, without Spark: fast to start, for tests, notebooks and small jobs."""

from penstock.local.run import LocalRun, run_locally

__all__ = ["LocalRun", "run_locally"]
