"""The program of a job on its way to the workers: Spark's own server of files brings it to every machine.

So driver and workers need no folder in common. A file is named after its content, so programs of one context do not
meet, and an executor that comes late fetches it with its first task.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkFiles

from penstock.base.durable_files import make_folder, write_durably

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = "spark-file:"


def ship_program(spark: SparkSession, pickled: bytes) -> str:
    """Give a program to Spark to be carried to the workers; returns its address."""
    name = f"penstock-{sha256(pickled).hexdigest()[:24]}.program"
    # A folder of Spark's own, which is removed with the context; workers of this machine look right there.
    root = Path(SparkFiles.getRootDirectory())
    master = str(spark.sparkContext.master)
    is_here = master.startswith("local") and not master.startswith("local-cluster")
    folder = root if is_here else root / "programs"
    make_folder(folder)
    if not (folder / name).exists():
        write_durably(folder / name, pickled)
        if not is_here:
            spark.sparkContext.addFile(str(folder / name))
    return f"{_SCHEME}{name}"


def program_path(address: str) -> str:
    """Where a program lies on this machine; an address may be a path, too.

    Example:
        >>> program_path("/jobs/1/program.pickle")
        '/jobs/1/program.pickle'
    """
    return SparkFiles.get(address.removeprefix(_SCHEME)) if address.startswith(_SCHEME) else address
