"""`MulAdd`: multiplies the ranks with some rows of the web graph, which it reads from disk when it first needs them."""

from __future__ import annotations

from pathlib import Path

from penstock import Operator, OperatorModel, Selectivity, State

DAMPING = 0.85


class MulAdd(Operator):
    """The next ranks of one part of the pages.

    The graph that it holds never changes, so it has no state: any instance gives the same for a tuple.
    """

    model = OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE)

    def __init__(self, parts: int, environment):
        self.parts = parts
        self.folder = environment.data_directory
        self.graph = None

    def process(self, t):
        if self.graph is None:
            self.graph = read(self.folder / "graph.txt")
        out_degrees, incoming = self.graph
        pages = len(incoming)
        ranks = t.ranks or [1.0 / pages] * pages
        shares = [rank / degree if degree else 0.0 for rank, degree in zip(ranks, out_degrees, strict=True)]
        lost = sum(rank for rank, degree in zip(ranks, out_degrees, strict=True) if not degree)
        base = (1.0 - DAMPING + DAMPING * lost) / pages
        mine = incoming[t.part :: self.parts]
        products = [base + DAMPING * sum(shares[page] for page in row) for row in mine]
        yield {"round": t.round, "part": t.part, "products": products}


def read(path: Path) -> tuple[list[int], list[list[int]]]:
    """The number of links out of each page, and the pages that link to each: a line a page, the pages it links to."""
    links = [[int(page) for page in line.split()] for line in path.read_text().splitlines()]
    incoming: list[list[int]] = [[] for _ in links]
    for page, targets in enumerate(links):
        for target in targets:
            incoming[target].append(page)
    return [len(targets) for targets in links], incoming
