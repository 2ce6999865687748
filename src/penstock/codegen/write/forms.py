"""The generated forms of operators: which writer writes which operator, by the kinds of their definitions.

Every form of the standard operators is registered here, and nowhere else. An operator that is not, such as one whose
model is verified while it runs, has none; functions of a user's have theirs in `python_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.codegen.write import relational
from penstock.codegen.write.builder import Builder
from penstock.codegen.write.deduplicating import why_no_de_duplicate, write_de_duplicate
from penstock.codegen.write.joining import why_no_join, write_join
from penstock.codegen.write.loop_operators import Inliner, Lines, Row
from penstock.codegen.write.windowed import moves_by_time, why_no_aggregate, write_aggregate
from penstock.ir.graph import Operator
from penstock.ir.types import ListType
from penstock.toolkit.adapters import discard
from penstock.toolkit.analysis.submit_counts import count_submits
from penstock.toolkit.relational import aggregate, filter, functor, join, punctor
from penstock.toolkit.utility import custom, de_duplicate, replayable_start, split, union


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """How an operator is written as a few lines over the columns of a batch.

    Attributes:
        write: Writes them.
        why_not: Why an instance has no such form, or None if it has.
        fires_by_time: Whether an instance fires by itself, so that it has to stand alone.
    """

    write: Callable[[Builder, Operator], None]
    why_not: Callable[[Operator], str | None] = lambda operator: None
    fires_by_time: Callable[[Operator], bool] = lambda operator: False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopForm:
    """How an operator is written for one tuple, inside of a loop.

    Attributes:
        write: The lines for a tuple, and for all that follows inside the segment.
        why_not: Why an instance has no such form, or None if it has.
        is_only_form: Whether an instance has no other.
        gives_one_at_most: Whether an instance submits at most one tuple to each port for each tuple, the ports in
            order.
        passes_markers: Whether window markers come through.
    """

    write: Callable[[Inliner, Operator, Row], Lines]
    why_not: Callable[[Operator], str | None] = lambda operator: None
    is_only_form: Callable[[Operator], bool] = lambda operator: False
    gives_one_at_most: Callable[[Operator], bool] = lambda operator: True
    passes_markers: bool = True


def fires_by_time(operator: Operator) -> bool:
    """Whether an operator with a kernel fires by itself, so that it has to stand alone."""
    kernel = KERNELS.get(operator.kind)
    return kernel is not None and kernel.fires_by_time(operator)


def _why_no_split_loop(operator: Operator) -> str | None:
    return None if operator.param("index") else "reads its mapping from a file"


def _has_list(operator: Operator) -> bool:
    """Whether a Split may send a tuple to several ports."""
    index = operator.param("index")
    return not index or isinstance(index[0].type, ListType)


def _why_no_custom(operator: Operator) -> str | None:
    if operator.param("ttl"):
        return "forgets entries of its maps (`ttl`)"
    return "does nothing" if operator.logic is None else None


def _submits_one_at_most(operator: Operator) -> bool:
    assert operator.logic is not None
    return all((count_submits(h.body).greatest or 2) <= 1 for h in operator.logic.on_tuple)


FILTERS = (filter.DEFINITION.kind, replayable_start.DEFINITION.kind)

KERNELS: Mapping[str, Kernel] = {
    aggregate.DEFINITION.kind: Kernel(write=write_aggregate, why_not=why_no_aggregate, fires_by_time=moves_by_time),
    de_duplicate.DEFINITION.kind: Kernel(write=write_de_duplicate, why_not=why_no_de_duplicate),
    join.DEFINITION.kind: Kernel(write=write_join, why_not=why_no_join),
    discard.DEFINITION.kind: Kernel(write=relational.write_discard),
    **dict.fromkeys(FILTERS, Kernel(write=relational.write_filter)),
    functor.DEFINITION.kind: Kernel(write=relational.write_functor),
    punctor.DEFINITION.kind: Kernel(write=relational.write_punctor),
    split.DEFINITION.kind: Kernel(write=relational.write_split, why_not=relational.why_no_split),
    union.DEFINITION.kind: Kernel(write=relational.write_union),
}
"""The operators that are written over columns."""

LOOPS: Mapping[str, LoopForm] = {
    custom.DEFINITION.kind: LoopForm(
        write=Inliner.write_custom,
        why_not=_why_no_custom,
        is_only_form=lambda operator: True,
        gives_one_at_most=_submits_one_at_most,
        passes_markers=False,
    ),
    **dict.fromkeys(FILTERS, LoopForm(write=Inliner.write_filter)),
    functor.DEFINITION.kind: LoopForm(write=Inliner.write_functor),
    split.DEFINITION.kind: LoopForm(
        write=Inliner.write_split,
        why_not=_why_no_split_loop,
        is_only_form=_has_list,
        gives_one_at_most=lambda operator: not _has_list(operator),
    ),
}
"""The operators that can be written tuple by tuple."""
