"""The clock of the profiler: CPU time of the calling thread.

The paper's timers read CPU counters. On a machine that runs other things, wall time counts the moments in which a
thread had to wait for a core: a process that is interrupted once in a thousand tuples seems ten times slower. CPU
time does not, so profiles taken under load agree with those of an idle machine. It costs five times as much to read
(`time.thread_time_ns` about 290 ns, `time.perf_counter_ns` 60 ns, a shared 2-core machine, Python 3.11), which only
sampled tuples and whole batches pay.

Example:
    >>> before = cpu_ns()
    >>> _ = sum(range(10_000))
    >>> cpu_ns() > before
    True
"""

from __future__ import annotations

import time

cpu_ns = time.thread_time_ns
"""CPU time of this thread."""

wall_ns = time.perf_counter_ns
"""The clock on the wall: cheap, for what is too short for a thread to lose its core often."""

all_threads_ns = time.process_time_ns
"""CPU time of all threads of this process."""

now_ns = time.time_ns
"""The time of day, for timestamps."""
