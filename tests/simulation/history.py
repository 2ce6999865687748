"""What happens to a job: drawn from a seed, and stable while program and history get smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from fuzz.setting import Setting, draw_setting
from fuzz.shrink import simpler_settings

PHASES = ("start", "switch", "plan", "PEs", "sinks", "sinks", "sinks", "written")
"""Where a fault may happen: while a process starts or changes the plan, plans a batch, processes it, while sinks write
and store what they know, and between that and the record that the batch is done."""

KINDS = ("kill", "kill", "torn", "power", "error", "again")
"""What may happen: the process is killed, or killed with half of a write done; the machine loses its power; a call of
the operating system fails; Spark gives the batch again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that happens once.

    Attributes:
        batch: Not before this one.
        phase: One of `PHASES`.
        step: Before which step of the phase: what is written, synced, renamed, cut, or a PE that works. Where there are
            fewer, behind the last one.
        how: One of `KINDS`.
        moves: Whether the job goes on with its next plan then.
    """

    batch: int
    phase: str
    step: int
    how: str
    moves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A history.

    Attributes:
        seed: For what happens in disorder: how tasks share rows, and in which order they arrive.
        plans: The ways to run the program that follow one another.
        lengths: For how many batches each but the last.
        faults: That happen.
        mixes: Whether what tasks send arrives in any order, and tasks are tried several times.
        jumps: Whether clocks jump.
        stores: Whether state lies in entries and files, as workers have it; otherwise as a whole.
        disturbs: Whether those files get lost, or damaged, or find no room.
    """

    seed: int
    plans: tuple[Setting, ...]
    lengths: tuple[int, ...] = ()
    faults: tuple[Fault, ...] = ()
    mixes: bool = False
    jumps: bool = False
    stores: bool = False
    disturbs: bool = False


def draw_history(seed: int) -> History:
    """The history of the program of a seed."""
    rng = Random(f"history {seed}")
    first = _short(rng, replace(draw_setting(seed), crashes=frozenset()))
    changes = rng.choice([0, 0, 1, 1, 2])
    plans = (first, *(_other_plan(rng, first, number) for number in range(changes)))
    return History(
        seed=seed,
        plans=plans,
        lengths=tuple(rng.randint(0, 4) for _ in range(changes)),
        faults=tuple(_fault(rng) for _ in range(rng.choice([0, 1, 2, 3, 5]))),
        mixes=rng.random() < 0.6,
        jumps=rng.random() < 0.5,
        stores=rng.random() < 0.4,
        disturbs=rng.random() < 0.3,
    )


def _other_plan(rng: Random, first: Setting, number: int) -> Setting:
    """Another fusion, other channels and other batches; where a loop leads stays."""
    other = _short(rng, draw_setting(rng.randrange(10**6)))
    return replace(other, crashes=frozenset(), opens_loop=first.opens_loop, seed=first.seed + 1000 * (number + 1))


def _short(rng: Random, setting: Setting) -> Setting:
    """With batches so small that there are several."""
    return replace(setting, batches=tuple(rng.choice([1, 2, 2, 3, 5, 8]) for _ in setting.batches))


def _fault(rng: Random) -> Fault:
    phase = rng.choice(PHASES)
    return Fault(
        batch=rng.choice([0, 0, 1, 1, 2, 3, 5, 8]),
        phase=phase,
        step=rng.choice([0, 1, 2, 3, 4, 6, 8, 12, 20]),
        how=rng.choice(KINDS),
        moves=rng.random() < 0.2,
    )


def simpler_histories(history: History) -> Iterator[History]:
    """Histories in which less happens."""
    for i in range(len(history.faults)):
        yield replace(history, faults=(*history.faults[:i], *history.faults[i + 1 :]))
    for i in range(len(history.lengths)):
        left = history.plans[: i + 1] + history.plans[i + 2 :]
        yield replace(history, plans=left, lengths=(*history.lengths[:i], *history.lengths[i + 1 :]))
    for name in ("mixes", "jumps", "stores", "disturbs"):
        if getattr(history, name):
            yield replace(history, **{name: False})
    for i, fault in enumerate(history.faults):
        for simpler in _simpler_faults(fault):
            yield replace(history, faults=(*history.faults[:i], simpler, *history.faults[i + 1 :]))
    for i, plan in enumerate(history.plans):
        for setting in simpler_settings(plan):
            if setting.opens_loop == plan.opens_loop:
                yield replace(history, plans=(*history.plans[:i], setting, *history.plans[i + 1 :]))
    if history.plans[0].opens_loop:
        yield replace(history, plans=tuple(replace(plan, opens_loop=False) for plan in history.plans))


def _simpler_faults(fault: Fault) -> Iterator[Fault]:
    if fault.moves:
        yield replace(fault, moves=False)
    if fault.how in ("torn", "power", "error"):
        yield replace(fault, how="kill")
    if fault.batch:
        yield replace(fault, batch=fault.batch // 2)
    if fault.step:
        yield replace(fault, step=fault.step // 2)
