"""The state that an instance holds, measured: keys and bytes by operator; and the limit that a job may have for it.

Introduction:
    State that outgrows its channel should not kill a job in silence. What is held is measured with each batch, which
    costs nothing, since tables know their sizes, and a limit ends the job with a message before the batch is stored: so
    nothing is lost, and the job goes on from there with more channels, or with a higher limit.

When it does not apply:
    What operators in containers hold is known as the pickle that is stored of all of them together. One that keeps
    state alone in its PE is told by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError
from penstock.runtime.pes.reports import Counts

if TYPE_CHECKING:
    from penstock.runtime.pes.pe_instance import PEInstance

HOW_TO_GO_ON = (
    "resume it with more --channels, which share the keys; or with a higher --state-limit; "
    "or let old keys go: ttl, timeOut, partitionAge, a window by time"
)


def measure_state(instance: PEInstance, whole_bytes: int) -> Counts:
    """For each operator of an instance how many keys it holds, and how many bytes.

    Args:
        instance: Behind a batch.
        whole_bytes: What is stored of it beside its tables.
    """
    found: Counts = {}
    for name, table in instance.tables.items():
        known = found.setdefault(name.rpartition(" ")[0], [0, 0])
        known[0], known[1] = max(known[0], len(table) - table.unused), known[1] + table.count_bytes()
    others = [id_ for id_ in instance.stateful if id_ not in found]
    if others:
        name = others[0] if len(others) == 1 else f"{others[0]} and {len(others) - 1} more"
        found[name] = [0, whole_bytes]
    return found


def add_held(held: Mapping[str, list[int]], more: Mapping[str, list[int]]) -> Counts:
    """What several channels hold together.

    Example:
        >>> add_held({"A": [2, 100]}, {"A": [1, 50], "B": [0, 7]})
        {'A': [3, 150], 'B': [0, 7]}
    """
    return {
        id_: [a + b for a, b in zip(held.get(id_, [0, 0]), more.get(id_, [0, 0]), strict=True)]
        for id_ in dict.fromkeys([*held, *more])
    }


def check_limit(held: Mapping[str, list[int]], limit: int | None, channel: int) -> None:
    """Refuse to hold more than a channel may.

    Raises:
        UserError: It holds more; the message names the operator that holds most.
    """
    total = sum(bytes_ for _, bytes_ in held.values())
    if limit is not None and total > limit:
        raise too_large(held, channel, f"{total:,} bytes, above its limit of {limit:,}")


def too_large(held: Mapping[str, list[int]], channel: int, what: str) -> UserError:
    """The error for state that a channel cannot hold."""
    text = f"the state of channel {channel} has come to {what}"
    if held:
        largest = max(held, key=lambda id_: held[id_][1])
        keys, bytes_ = held[largest]
        of_keys = f" of {keys:,} keys" if keys else ""
        text += f": operator `{largest}` alone holds {bytes_:,} bytes{of_keys}"
    return UserError(f"{text}; nothing of this batch was written", hint=HOW_TO_GO_ON)
