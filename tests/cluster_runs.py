"""Runs commands on a cluster, one after the other in one session: `python tests/cluster_runs.py MASTER < COMMANDS`.

COMMANDS is a list in JSON of arguments of `penstock run`. For each, a line of JSON on standard output says what became
of it, and how many tasks each host has done for it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

from click.testing import CliRunner
from pyspark.sql import SparkSession

from penstock.cli import cli
from penstock.spark.job.session import open_session


def main() -> None:
    (master,) = sys.argv[1:]
    spark = open_session(master)
    before = tasks_by_host(spark)
    for arguments in json.load(sys.stdin):
        found = CliRunner().invoke(cli, ["run", *arguments, "--master", master, "--json"], standalone_mode=False)
        after = tasks_by_host(spark)
        error = f"{found.exception!r} {found.stderr[-2000:]}" if found.exception is not None else None
        print(json.dumps({"error": error, "tasks": after - before}), flush=True)
        before = after


def tasks_by_host(spark: SparkSession) -> Counter[str]:
    store: Any = spark.sparkContext._jsc.sc().statusStore()  # type: ignore[union-attr]
    executors = store.executorList(False)
    found: Counter[str] = Counter()
    for i in range(executors.size()):
        executor = executors.apply(i)
        if executor.id() != "driver":
            found[executor.hostPort().partition(":")[0]] += executor.completedTasks()
    return found


if __name__ == "__main__":
    main()
