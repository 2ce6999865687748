"""What a Python source of Spark needs so that it says itself how much a batch has, and when there is no more.

Spark 4.2 brought it. On Spark 4.1 an application runs between DataFrames (`penstock.spark.transform`), where Spark's
own sources do that; a job with sources of ours is refused there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

    HAS_ADMISSION = True
else:
    try:
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

        HAS_ADMISSION = True
    except ImportError:

        class ReadLimit:
            """Stands for what there is not."""

        ReadAllAvailable = SupportsTriggerAvailableNow = ReadLimit
        HAS_ADMISSION = False

__all__ = ["HAS_ADMISSION", "ReadAllAvailable", "ReadLimit", "SupportsTriggerAvailableNow", "check_admission"]


def check_admission() -> None:
    """See that this Spark has it.

    Raises:
        UserError: It has not.
    """
    if not HAS_ADMISSION:
        import pyspark

        hint = "install pyspark 4.2 or newer, or use penstock.spark.transform between DataFrames of Spark's own sources"
        raise UserError(f"Spark {pyspark.__version__} cannot run a job whose sources Penstock reads", hint=hint)
