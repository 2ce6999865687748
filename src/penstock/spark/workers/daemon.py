"""The process that Spark's Python workers are forked from: `spark.python.daemon.module`.

Spark's own daemon imports nothing before it forks, so every worker spends some two seconds of processor time on imports
of its own, and a plan of 16 PEs starts with half a minute of it. This daemon first imports what a worker needs.

After each task Spark lets a worker collect garbage, which walks over everything that was imported. What the daemon
holds is frozen: it is left out of that walk, and its pages stay shared between the workers.

Spark's daemon is careful because a fork copies only the thread that forks, and libraries start threads when they are
imported. `spark.job.session` tells the numerical ones to start none; jemalloc, in Arrow, expects to be forked.
"""

from __future__ import annotations

import gc

from pyspark import daemon


def preload() -> None:
    """Import what workers run, and freeze it."""
    import pyspark.sql.streaming.stateful_processor_api_client
    import pyspark.worker  # noqa: F401

    import penstock.spark.sources.data_source
    import penstock.spark.workers.instances  # noqa: F401

    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    preload()
    daemon.manager()
