"""Streams between applications of one run: what one exports reaches every import that matches it.

Applications are separate jobs, so what one exports is queued and delivered when the item in hand has been processed.
An imported stream ends when every stream that it matches has ended; one that matches nothing ends before it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from penstock.reference.feedback import Feedback
from penstock.reference.node import Node
from penstock.reference.streams import Item
from penstock.toolkit.adapters.import_ import offer_of, wanted_by
from penstock.toolkit.core.runtime import Punctuation


class Importer:
    """An Import and what it waits for.

    Attributes:
        node: The Import.
        wanted: The streams that it asks for.
        open_exports: How many of the streams that it may take have not ended.
    """

    def __init__(self, node: Node, end: Callable[[Node], None]) -> None:
        self.node = node
        self.wanted = wanted_by(node.operator, node.evaluator)
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


class Exporter:
    """An Export and who may take its stream.

    Attributes:
        importers: Those that may take some of its tuples.
    """

    def __init__(self, node: Node, importers: Iterable[Importer]) -> None:
        self._offer = offer_of(node.operator, node.application, node.evaluator)
        self.importers = [i for i in importers if i.wanted.may_take(self._offer)]
        self._takers_of = lru_cache(self._find_takers)
        self._properties: object = None
        self._takers, self._text = self._find_takers(None)

    def route(self, item: Item) -> list[tuple[Importer, Item]]:
        """Who takes an item, and what each of them gets."""
        if item is Punctuation.FINAL:
            return [(importer, item) for importer in self.importers]
        if isinstance(item, tuple) and self._offer.changes:
            *values, properties = item
            item = tuple(values)
            if properties != self._properties:
                self._properties = properties
                self._takers, self._text = self._takers_of(str(properties))
        return [(importer, self._dressed(importer, item)) for importer in self._takers]

    def _find_takers(self, properties: str | None) -> tuple[list[Importer], str]:
        """Who takes a tuple with these properties, or with the first ones, and the offer as code reads it."""
        offer = self._offer if properties is None else self._offer.with_properties(properties)
        return [importer for importer in self.importers if importer.wanted.takes(offer)], offer.text()

    def _dressed(self, importer: Importer, item: Item) -> Item:
        """An item as an Import gets it: with the offer, if code behind it asks for that."""
        return (*item, self._text) if importer.wanted.changes and isinstance(item, tuple) else item


class Exchange:
    """Who exports what to whom."""

    def __init__(self, nodes: Iterable[Node], feedback: Feedback, end: Callable[[Node], None]) -> None:
        nodes = list(nodes)
        self._feedback = feedback
        self._importers = [Importer(n, end) for n in nodes if n.operator.facts.imports]
        self._exporters = {n.id: Exporter(n, self._importers) for n in nodes if n.operator.facts.exports}
        for exporter in self._exporters.values():
            for importer in exporter.importers:
                importer.open_exports += 1

    def start(self) -> None:
        """End the imports that nobody feeds."""
        for importer in self._importers:
            importer.end_if_alone()

    def restore_end(self, node: Node) -> None:
        """Take note that a node had ended when it was remembered: no importer waits for it any more."""
        if node.id in self._exporters:
            for importer in self._exporters[node.id].importers:
                importer.open_exports -= 1

    def export(self, node: Node, item: Item) -> None:
        """Hand on a tuple, a window marker or the end of a stream."""
        if node.id in self._exporters:
            for importer, sent in self._exporters[node.id].route(item):
                self._feedback.send(importer.node.rank, importer.deliver, sent)
