"""The figures that the papers report, for the pages of results whose own tables and plots do not have them."""

from __future__ import annotations

PUBLISHED = {
    "fusion": """
Figure 10 (radio astronomy, four nodes of four cores): automatic fusion has 1.7 times the throughput of NONE, 2 times
that of the manual one and 1.85 times that of FALL. Figure 11 (bargain detection): 6 times that of NONE, 2 times that
of FALL. Table 2 of COLA (bargain detection, 4 to 7 blades): the best of six iterations of COLA has 2.0 to 3.4 times
the throughput of NONE, that of FINT 1.6 to 3.0 times.
""",
    "cola": """
Table 1, its first application (200 operators, 283 arcs). Its costs are not published, so only the order of the
columns can be compared with ours.

| blades | cut of NONE | of FINT | of COLA | largest PE of NONE | of FINT | of COLA |
|---:|---:|---:|---:|---:|---:|---:|
| 4 | 0.3792 | 0.0661 | 0.0332 | 0.3218 | 0.5353 | 0.4990 |
| 5 | 0.3703 | 0.0441 | 0.0587 | 0.2980 | 0.5476 | 0.4676 |
| 6 | 0.7236 | 0.2698 | 0.1998 | 0.8169 | 0.8169 | 0.7560 |
| 7 | 0.6833 | 0.2492 | 0.1860 | 0.6697 | 0.6697 | 0.6666 |
""",
    "profiling": """
Figure 9 (a chain of operators in one PE): no overhead to speak of at s = 0.001, around 10 % at s = 0.01 and around 50
% at s = 0.1.
""",
    "scaling": """
Figure 6 (32 cores): with enough work a tuple, 32 channels are 32 times as fast as one in the stateless application,
31.3 times in the stateful one, and 22.6 times in the one with a shuffle, which has twice as many processes as cores;
on 16 channels that one is 15.3 times as fast. With little work the stateful ones gain 2 times, by running as a
pipeline.
""",
    "ordering": """
Figure 8: sequence numbers cost at most 12 %, with pulses at most 21 %, both where there is little work for a tuple.
""",
    "crossings": """
Figure 6: with nothing to do for a tuple, a chain of 1 to 32 operators is fastest in one PE, on four cores too. Figure
8: with enough to do, several PEs overtake it.
""",
}
"""Markdown by the name of the experiment."""
