"""Filters behind a source that is read by columns, applied where it is read: what all of them drop does not travel.

Introduction:
    A source and the PE behind it are different processes, and every tuple that crosses between them costs about as much
    as reading it. Where all who take a stream from a source begin with a filter, the tuples that no filter lets through
    need not cross.

Formulation:
    The predicates are those by which operators drop tuples (`facts.drops_by`: Filters with one output, Functors with a
    `filter`), if they cannot fail. A tuple travels if one of those behind its edge lets it through. The operators are
    still there and test again, so nothing else changes; the tuples that were dropped here count as received by all of
    them.

When it does not apply:
    Where somebody behind the edge takes every tuple; where a filter may fail or calls functions; and where the job is
    profiled, since an operator's cost is then to be that of all its tuples. A selection that drops less than a tenth of
    what it has seen gives up: the test would cost more than it saves.

Reference:
    Predicate pushdown, as any database has it. As an expression of Spark's own engine the same filter would cost more:
    `docs/design/spark.md`.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa

from penstock.codegen.plan.liveness import is_plain
from penstock.codegen.plan.physical import Edge, PhysicalPlan
from penstock.codegen.rows.places import Array
from penstock.expr.evaluate import Evaluator
from penstock.expr.vector.evaluator import compile_vector
from penstock.ir.expressions import Expression
from penstock.ir.graph import Operator
from penstock.runtime.pes.reports import Counts

_ENOUGH_SEEN = 50_000
_LEAST_DROPPED = 0.1


class Selection:
    """The tuples of an edge that somebody behind it wants.

    Args:
        plan: The job.
        edge: It leaves a source.
        predicates: Of those behind it.
    """

    def __init__(self, plan: PhysicalPlan, edge: Edge, predicates: tuple[Expression, ...]) -> None:
        schema = plan.application.streams[edge.stream].schema
        self._tests = [compile_vector(predicate, [schema], Evaluator()) for predicate in predicates]
        self._ports = {id_: len(plan.application.operator[id_].inputs) for id_, _ in edge.subscribers}
        self._subscribers = edge.subscribers
        self._seen = self._dropped = self._untold = 0

    def wanted(self, batch: pa.RecordBatch) -> Array | None:
        """Which tuples are wanted; None if all are, or if nobody looks any more."""
        if self._seen >= _ENOUGH_SEEN and self._dropped < _LEAST_DROPPED * self._seen:
            return None
        found: Array = reduce(np.logical_or, (np.asarray(test([batch])) for test in self._tests))
        dropped = len(found) - int(np.count_nonzero(found))
        self._seen += len(found)
        self._dropped += dropped
        self._untold += dropped
        return found if dropped else None

    def forget(self) -> None:
        """Forget what was dropped and not told."""
        self._untold = 0

    def told(self) -> Counts:
        """The tuples dropped since the last call, counted as received by the operators behind the edge."""
        counts: Counts = {id_: [0] * ports for id_, ports in self._ports.items()}
        for id_, port in self._subscribers:
            counts[id_][port] += self._untold
        self._untold = 0
        return counts


def selection(plan: PhysicalPlan, edge: Edge) -> Selection | None:
    """The selection of an edge that leaves a source, if those behind it want less than everything."""
    operators = [plan.application.operator[id_] for id_, _ in edge.subscribers]
    predicates = [predicate for operator in operators for predicate in _predicate(operator)]
    if plan.signals is not None or len(predicates) < len(operators):
        return None
    return Selection(plan, edge, tuple(predicates))


def _predicate(operator: Operator) -> tuple[Expression, ...]:
    """The condition that a tuple must meet for an operator to use it; empty if every tuple is to be sent."""
    facts = operator.facts
    if facts.drops_by is None or (facts.rest_port is not None and facts.rest_port < len(operator.outputs)):
        return ()
    condition = operator.param(facts.drops_by)
    return condition if is_plain(operator, condition) else ()
