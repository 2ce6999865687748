"""The states of a job and the table of legal transitions.

    queued ---> admitted ---> starting ---> running ---> done
      ^             |            |    \\       |  ^ \\
      |             v            |     v      v  |  -> rescaling
      +---------- (out) <--------+   suspending -+--> suspended, cancelled

`suspended` says that the job has no process and a checkpoint to go on from, whether the user or the service has
suspended it; what the user wants stands beside the state (`Wanted`). The store refuses every other transition.

Example:
    >>> may_follow(JobState.RUNNING, JobState.SUSPENDING), may_follow(JobState.DONE, JobState.RUNNING)
    (True, False)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class JobState(StrEnum):
    """Where a job is in its life."""

    QUEUED = "queued"
    ADMITTED = "admitted"
    STARTING = "starting"
    RUNNING = "running"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    RESCALING = "rescaling"
    FAILED = "failed"
    DONE = "done"
    CANCELLED = "cancelled"


class Wanted(StrEnum):
    """What the user wants of a job."""

    RUN = "run"
    SUSPEND = "suspend"
    CANCEL = "cancel"


_S = JobState

TRANSITIONS: Mapping[JobState, frozenset[JobState]] = {
    # Waits for a decision, or for its back-off to pass.
    _S.QUEUED: frozenset({_S.ADMITTED, _S.SUSPENDED, _S.CANCELLED}),
    # Has a place, and is about to be started.
    _S.ADMITTED: frozenset({_S.STARTING, _S.QUEUED, _S.SUSPENDED, _S.CANCELLED, _S.FAILED}),
    # Has a process, which has not come to its first batch.
    _S.STARTING: frozenset({_S.RUNNING, _S.SUSPENDING, _S.QUEUED, _S.FAILED, _S.DONE}),
    _S.RUNNING: frozenset({_S.SUSPENDING, _S.RESCALING, _S.QUEUED, _S.FAILED, _S.DONE}),
    # Has been asked to stop behind its batch.
    _S.SUSPENDING: frozenset({_S.SUSPENDED, _S.CANCELLED, _S.QUEUED, _S.FAILED, _S.DONE}),
    _S.SUSPENDED: frozenset({_S.QUEUED, _S.CANCELLED}),
    # Has been asked to stop, to go on at once with another template or other cores.
    _S.RESCALING: frozenset({_S.ADMITTED, _S.SUSPENDING, _S.QUEUED, _S.FAILED, _S.DONE}),
    # Given up; the user may try it again.
    _S.FAILED: frozenset({_S.QUEUED, _S.CANCELLED}),
    _S.DONE: frozenset(),
    _S.CANCELLED: frozenset(),
}
"""From each state the states that may follow."""

FINAL = frozenset(state for state, after in TRANSITIONS.items() if not after)
"""The states that nothing follows."""

PLACED = frozenset({_S.ADMITTED, _S.STARTING, _S.RUNNING, _S.RESCALING})
"""The states of a job that has a place in the plan."""


def may_follow(before: JobState, after: JobState) -> bool:
    """Whether a transition is legal."""
    return after in TRANSITIONS[before]
