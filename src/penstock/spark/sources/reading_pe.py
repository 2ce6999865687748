"""Which PE works in the tasks that read its source.

Introduction:
    Where tasks of a source read for a channel each (`runtime.sources.channel_parts`), the PE behind it would take what
    they give in another Python process of the same task: all of it crosses to Java and back. For light operators that
    costs more than all that they do. So the process that reads runs the PE itself.

Example:
    Sixteen functions behind a Parquet file on two channels: two tasks, each of which reads half of the batch and runs
    the functions, and tuples never enter Java.

When it does not apply:
    - The PE has state, or takes other streams, too.
    - There are cores for two processes a channel: reading and processing at the same time is then worth a crossing.
    - The PE is the last one, and what leaves it is written in tasks (`spark.sinks.task_sinks`).

Preserves:
    All that the PE would give in a process of its own.
"""

from __future__ import annotations

from penstock.codegen.plan.physical import PE, PhysicalPlan, Route


def pe_of_reading_tasks(plan: PhysicalPlan, channels: int | None, cores: int, *, last_writes: bool) -> PE | None:
    """The PE that works in the tasks that read its source, if there is one.

    Args:
        plan: How the program is cut into PEs.
        channels: How many channels the tasks of the source read for; None if they do not.
        cores: How many tasks run at a time.
        last_writes: Whether the worker of the last PE writes what is for sinks.
    """
    if channels is None or 2 * channels <= cores:
        return None
    source = next(pe.index for pe in plan.pes if pe.role == "source")
    behind = (plan.pes[edge.consumer] for edge in plan.out_of(source) if edge.route is Route.TURNS)
    found = next((pe for pe in behind if pe.role == "stateless" and len(plan.into(pe.index)) == 1), None)
    last = next((pe for pe in reversed(plan.pes) if pe.role in ("stateful", "stateless")), None)
    return None if found is last and last_writes else found
