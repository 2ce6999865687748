"""The sequential interpreter: slow, obvious, the meaning of every program."""

from penstock.reference.failure import OperatorFailed
from penstock.reference.result import DeadLetter, ReferenceResult, RunResult, StopReason
from penstock.reference.run import run

__all__ = ["DeadLetter", "OperatorFailed", "ReferenceResult", "RunResult", "StopReason", "run"]
