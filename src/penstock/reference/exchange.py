"""Streams between applications of one run: what one exports reaches every import that matches it.

Applications are separate jobs, so what one exports is queued and delivered when the item in hand has been processed.
An imported stream ends when every stream that it matches has ended; one that matches nothing ends before it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.reference.feedback import Feedback
from penstock.reference.node import Node
from penstock.reference.streams import Item
from penstock.toolkit.adapters.import_ import offer_of, takes
from penstock.toolkit.core.runtime import Punctuation


class Importer:
    """An Import and what it waits for.

    Attributes:
        node: The Import.
        open_exports: How many of the streams that it takes have not ended.
    """

    def __init__(self, node: Node, end: Callable[[Node], None]) -> None:
        self.node = node
        self.open_exports = 0
        self._take = node.runtime.receiver(0)
        self._end = end

    def deliver(self, item: Item) -> None:
        """Take what an application has exported."""
        if item is Punctuation.FINAL:
            self.open_exports -= 1
            self.end_if_alone()
        elif self.node.takes_no_more:
            self.node.drop(item)
        elif isinstance(item, Punctuation):
            self.node.runtime.punctuate[0](item)
        else:
            self.node.guard(self._take, item)

    def end_if_alone(self) -> None:
        """End the imported stream if nobody feeds it any more."""
        if self.open_exports == 0:
            self._end(self.node)


class Exchange:
    """Who exports what to whom."""

    def __init__(self, nodes: Iterable[Node], feedback: Feedback, end: Callable[[Node], None]) -> None:
        nodes = list(nodes)
        self._feedback = feedback
        self._importers = [Importer(n, end) for n in nodes if n.operator.facts.imports]
        self._taken_by = {n.id: self._takers(n) for n in nodes if n.operator.facts.exports}

    def start(self) -> None:
        """End the imports that nobody feeds."""
        for importer in self._importers:
            importer.end_if_alone()

    def restore_end(self, node: Node) -> None:
        """Take note that a node had ended when it was remembered: no importer waits for it any more."""
        for importer in self._taken_by.get(node.id, ()):
            importer.open_exports -= 1

    def export(self, exporter: Node, item: Item) -> None:
        """Hand on a tuple, a window marker or the end of a stream."""
        for importer in self._taken_by.get(exporter.id, ()):
            self._feedback.send(importer.node.rank, importer.deliver, item)

    def _takers(self, exporter: Node) -> list[Importer]:
        offer = offer_of(exporter.operator, exporter.application, exporter.evaluator)
        found = [i for i in self._importers if takes(i.node.operator, offer, i.node.evaluator)]
        for importer in found:
            importer.open_exports += 1
        return found
