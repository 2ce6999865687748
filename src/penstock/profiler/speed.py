"""The speed of a core in the mips that we use: how fast it runs a fixed kernel.

The papers measure work in millions of instructions, so that a cost measured on one machine means something on another.
We run Python, so our unit is what the interpreter does: one round of the kernel (a multiplication, an addition and a
mask on integers, and the loop around them) counts as a hundred instructions. The unit cancels out wherever costs and
speeds were measured with the same kernel; what matters is the ratio of two machines.

Example:
    >>> core_mips(rounds=1_000, repeats=2) > 0
    True
"""

from __future__ import annotations

from penstock.profiler.clock import cpu_ns

INSTRUCTIONS = 100
"""The instructions that a round of the kernel counts as."""

_MILLION_A_SECOND = 1e-6 * 1e9


def core_mips(*, rounds: int = 200_000, repeats: int = 5) -> float:
    """Measure this machine: the best of some runs, in CPU time, so that other work on it matters little."""
    return max(_run(rounds) for _ in range(repeats))


def _run(rounds: int) -> float:
    began = cpu_ns()
    _kernel(rounds)
    return rounds * INSTRUCTIONS / (cpu_ns() - began) * _MILLION_A_SECOND


def _kernel(rounds: int) -> int:
    x = 1
    for _ in range(rounds):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x
