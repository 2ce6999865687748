"""Which applications have operators that wait for time to pass, and what for."""

from __future__ import annotations

from penstock.ir.graph import Application, Operator, PolicyKind


def waits_for_time(application: Application) -> bool:
    """Whether any operator acts when time passes although no tuple comes.

    Example:
        >>> waits_for_time(Application(name="Empty"))
        False
    """
    windows = [p.window for o in application.operators for p in o.inputs if p.window is not None]
    policies = [p for w in windows for p in (w.eviction, w.trigger) if p is not None]
    behind = [o for o in application.operators if o.inputs]
    return any(p.kind is PolicyKind.TIME for p in policies) or any(map(_waits, behind))


def _waits(operator: Operator) -> bool:
    """Whether an operator behind others waits for time by itself."""
    facts = operator.facts
    wakes = operator.model.spontaneous and not facts.fires_at_end_only
    return wakes or facts.waits_for_time or any(map(operator.param, facts.waits_for_time_with))


def has_gate(application: Application) -> bool:
    """Whether a job has a gate behind its sources (`source_gate`).

    A gate costs a stage through which everything passes, so a job has one only where it makes a difference: if it reads
    records with times of their own, which are those of Kafka, and some operator acts by time.
    """
    return any(o.facts.has_record_times for o in application.operators) and waits_for_time(application)
