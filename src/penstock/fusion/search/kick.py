"""Random changes that take a local search out of where it is stuck."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.fusion.search import steps as moves
from penstock.fusion.search.live import Live

_CHANGES = 12


def kick(live: Live, vertices: Sequence[int], rng: np.random.Generator) -> None:
    """Make some valid changes at random near given vertices."""
    number_of = {v: t for t, template in enumerate(live.graph.templates) for v in template}
    for v in list(vertices)[:_CHANGES]:
        template = live.graph.templates[number_of[v]]
        others = [u for u in live.graph.neighbours[v] if live.pe_of[u] != live.pe_of[v]]
        mark = len(live.journal)
        host = int(rng.integers(len(live.loads)))
        if others and rng.random() < 0.6:
            done = moves.join(live, template, live.graph.templates[number_of[int(rng.choice(others))]])
        elif rng.random() < 0.5:
            done = moves.relocate(live, live.pe_of[v], host)
        else:
            done = moves.part(live, template, host if len(template) == 1 else None)
        if not done:
            live.roll_back(mark)
    live.journal.clear()
