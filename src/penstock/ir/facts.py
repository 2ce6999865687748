"""Facts of an operator: what every instance of its kind is like, beside the model of the one instance.

A definition says them once, and every operator of the graph carries those of its definition in its model. The defaults
are those of an operator of which nothing is known, such as a user's: it reads whole tuples, no test may be made in its
place, and running it once more than the user asked for may do harm.

Example:
    >>> Facts().is_repeatable, Facts().reads.value
    (False, 'whole tuples')
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reads(Enum):
    """Which attributes of a tuple an operator reads, if its expressions cannot fail.

    WHOLE_TUPLES: all of them. EXPRESSIONS: those that its parameters, output clauses and windows name. AND_PASSES_ON:
    likewise, and it passes the others on, which counts where somebody behind it reads them.
    """

    WHOLE_TUPLES = "whole tuples"
    EXPRESSIONS = "what its expressions name"
    AND_PASSES_ON = "what its expressions name, and passes the others on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts that hold for every instance of a kind.

    Attributes:
        never_ends: Whether a source never says that it has ended: who reads it wants what comes later.
        never_ends_with: The parameters that make it so where they are true.
        never_ends_without: The parameters without which a source makes tuples for ever.
        is_read_by_engine: Whether the engine reads a source by itself, without a PE for it.
        position_travels: Whether a source that the engine reads by itself can begin where it stood under another plan.
        has_record_times: Whether the records that a source reads have times of their own.
        imports: Whether it takes what other applications export; its times are theirs.
        exports: Whether other applications may import what it takes.
        waits_for_time: Whether it acts when time passes although no tuple comes, beside its windows and what its model
            calls spontaneous.
        waits_for_time_with: The parameters that make it so, or that make it write down how much time has passed.
        fires_at_end_only: Whether what its model calls spontaneous comes at the end of its input alone, its windows
            aside.
        reads: Which attributes it reads.
        drops_by: The parameter that a tuple must satisfy for the operator to do anything with it.
        rest_port: The output port, if the operator has so many, that takes the tuples which do not satisfy it.
        late_port: The output port by which tuples leave that have come too late, so that they are counted as late.
        forwards_from_all: Whether its model counts an attribute as forwarded only if tuples of every port have it so.
        has_inferred_model: Whether the models of its instances are worked out from their code, and not declared.
        is_repeatable: Whether running it once more, beside the user's own run, leaves nothing outside but the files
            that it writes; code of the invocation aside.
        writes: The parameters that name the files, or folders, that it writes.
        opens_what_tuples_name: Whether it reads the files that its input names, so that a tuple may be any amount of
            work.
        reaches_out: Whether it talks to servers, or to other jobs, so that a program in a sandbox cannot have it.
        ends_anywhere: Whether it ends a stream without an effect outside, in whatever process it runs.
        takes_blocks: Whether it takes all rows that have come at once, as columns, and is a piece of a PE of its own.
        uses_up_with: The parameters with which it uses up what it reads, so that it is not repeatable.
    """

    never_ends: bool = False
    never_ends_with: tuple[str, ...] = ()
    never_ends_without: tuple[str, ...] = ()
    is_read_by_engine: bool = False
    position_travels: bool = False
    has_record_times: bool = False
    imports: bool = False
    exports: bool = False
    waits_for_time: bool = False
    waits_for_time_with: tuple[str, ...] = ()
    fires_at_end_only: bool = False
    reads: Reads = Reads.WHOLE_TUPLES
    drops_by: str | None = None
    rest_port: int | None = None
    late_port: int | None = None
    forwards_from_all: bool = False
    has_inferred_model: bool = False
    is_repeatable: bool = False
    writes: tuple[str, ...] = ()
    opens_what_tuples_name: bool = False
    reaches_out: bool = False
    ends_anywhere: bool = False
    takes_blocks: bool = False
    uses_up_with: tuple[str, ...] = ()


NO_FACTS = Facts()
"""Of an operator of which nothing is known."""
