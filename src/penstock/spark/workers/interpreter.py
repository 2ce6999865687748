"""The interpreter of Spark's Python workers, and whether it can run them: Spark does not say why one fails."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

from penstock.base.diagnostics import UserError

_ASKS = f"""
import sys
if sys.version_info[:2] != {sys.version_info[:2]}:
    sys.exit("it is Python %d.%d, and this is {sys.version_info[0]}.{sys.version_info[1]}" % sys.version_info[:2])
import penstock, pyarrow, pyspark.worker
"""
_PATIENCE_SECONDS = 60.0
_SET_PYTHON = f"set PYSPARK_PYTHON={sys.executable} in the environment before the session is made"


@cache
def fault_of(python: str) -> str | None:
    """Why an interpreter of this machine cannot run our workers; None if it can.

    Example:
        >>> fault_of(sys.executable)
        >>> fault_of("/no/such/python")
        'No such file or directory'
    """
    if python == sys.executable:
        return None
    asking = [python, "-c", _ASKS]
    try:
        done = subprocess.run(asking, capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"it does not answer in {_PATIENCE_SECONDS:g} s"
    except OSError as error:
        return error.strerror or str(error)
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return (said[-1] if said else f"it ends with status {done.returncode}") if done.returncode else None


def check_python(context: Any) -> None:
    """See that the workers of a context on this machine have what they need; they would fail without saying so.

    Raises:
        UserError: They have not.
    """
    if not str(context.master).startswith("local"):
        return
    fault = fault_of(context.pythonExec)
    if fault is not None:
        raise UserError(f"the workers of this session run {_without(context.pythonExec, fault)}", hint=_SET_PYTHON)


def _without(python: str, fault: str) -> str:
    return f"`{python}`, in which there is no Penstock for this Python: {fault}"


def active_context() -> Any:
    """The context of this process; None where there is none."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def explain_silence(context: Any) -> UserError:
    """The error for a worker that Spark has started and heard nothing of: its interpreter, or the machine.

    Args:
        context: Of the job; None where it is gone.
    """
    message = "Spark gave up on a Python worker that did not start in time"
    busy = "the machine is busy: resume with the same command, or ask for fewer channels and PEs"
    if context is None:
        return UserError(message, hint=busy)
    python, is_here = context.pythonExec, str(context.master).startswith("local")
    fault = fault_of(python)
    if fault is not None and is_here:
        return UserError(f"Spark's Python workers do not start: they run {_without(python, fault)}", hint=_SET_PYTHON)
    if not is_here:
        return UserError(
            message,
            hint=f"see that `{python}` is on every worker, with Penstock and of Python "
            f"{sys.version_info[0]}.{sys.version_info[1]} (PYSPARK_PYTHON names another); or {busy}",
        )
    return UserError(message, hint=busy)
