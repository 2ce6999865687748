"""Streams between applications of one run: what one exports reaches every import that matches it.

Applications are separate jobs, so what one exports is queued and delivered when the item in hand has been processed.
An imported stream ends when every stream that it matches has ended; one that matches nothing ends before it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from penstock.reference.node import Item, Node, Queue
from penstock.toolkit.runtime import Punctuation

Matches = Callable[[Node, Node], bool]
"""Tells whether an Import, the first, takes what an Export, the second, offers."""


class Exchange:
    """Who exports what to whom."""

    def __init__(self, nodes: Iterable[Node], queue: Queue, matches: Matches, end: Callable[[Node], None]) -> None:
        nodes = list(nodes)
        self._queue = queue
        self._end = end
        self.imports = [n for n in nodes if n.operator.kind == "Import"]
        exports = [n for n in nodes if n.operator.kind == "Export"]
        self._importers = {e.id: [i for i in self.imports if matches(i, e)] for e in exports}
        self._open = {i.id: sum(i in found for found in self._importers.values()) for i in self.imports}

    def start(self) -> None:
        """End the imports that nobody feeds."""
        for node in self.imports:
            if self._open[node.id] == 0:
                self._end(node)

    def export(self, exporter: Node, item: Item) -> None:
        """Hand on a tuple or a window marker."""
        for importer in self._importers[exporter.id]:
            self._queue.append((partial(_deliver, importer), item))

    def ended(self, exporter: Node) -> None:
        """An Export has seen the end of its stream."""
        for importer in self._importers.get(exporter.id, ()):
            self._queue.append((partial(self._count_down, importer), Punctuation.FINAL))

    def _count_down(self, importer: Node, item: Item) -> None:
        self._open[importer.id] -= 1
        if self._open[importer.id] == 0:
            self._end(importer)


def _deliver(importer: Node, item: Item) -> None:
    if isinstance(item, Punctuation):
        importer.runtime.punctuate[0](item)
    else:
        importer.runtime.submit[0](item)
