"""Read resource functions from JSON: flows, tables, limits and surfaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from penstock.base.json_reader import JsonReader, Object, shown
from penstock.base.json_source import kind_of
from penstock.scheduler.problem.admission_problem import PRIMAL, Flow, Limits, RateFunction, Surface, Table

LARGEST = 1e15
"""Products of numbers up to this, and quotients down to its inverse, stay far from where arithmetic overflows."""

HARMLESS = Flow(mips_per_tps=1.0, selectivity=1.0)
"""The placeholder for a function that cannot be read."""

Pair = tuple[str, str, float]


class RateReader(JsonReader):
    """Reads the `rate` of an output."""

    def __init__(self, path: str) -> None:
        super().__init__(path, largest=LARGEST)

    def rate(self, item: Object, owner: str, inputs: Sequence[str]) -> RateFunction:
        """A resource function of a PE with these inputs."""
        kind, body = self.variant(item, "rate", owner, ("flow", "table", "limits", "surface")) or (None, None)
        if kind is None:
            return HARMLESS
        if kind == "table":
            return self.table(body, f"the rate table of {owner}")
        if not isinstance(body, dict):
            self.complain(f"the {kind} of {owner} is {kind_of(body)}", "write an object")
            return HARMLESS
        if kind == "flow":
            return self._flow(body, owner)
        known = {*inputs, PRIMAL}
        return self._limits(body, owner, known) if kind == "limits" else self._surface(body, owner, known)

    def table(self, value: object, what: str) -> Table:
        """A table of points that rise."""
        return Table(points=tuple(self.points(value, what)) or ((0.0, 0.0),))

    def _flow(self, body: Object, owner: str) -> Flow:
        self.check_spelling(body, ("mips_per_tps", "selectivity"), f"the flow of {owner}")
        cost = self.number(body, "mips_per_tps", owner, above_zero=True)
        return Flow(mips_per_tps=cost, selectivity=self.number(body, "selectivity", owner))

    def _limits(self, body: Object, owner: str, known: set[str]) -> Limits:
        self.check_keys(body, ("mips", "inputs", "products"), f"the limits of {owner}")
        allowed = self.table(body.get("mips"), f"the mips table of {owner}")
        shares = self.mapping(body, "inputs", f"the limits of {owner}")
        offered = [(s, self.amount(share, f"the share of `{s}` in {owner}")) for s, share in shares.items()]
        products = self.values(body, "products", owner)
        pairs = [pair for i, entry in enumerate(products) if (pair := self._pair(entry, f"products[{i}] of {owner}"))]
        self._check_inputs([*shares, *(stream for pair in pairs for stream in pair[:2])], owner, known)
        return Limits(allowed=allowed, offered=tuple(offered), pairs=tuple(pairs))

    def _pair(self, value: object, what: str) -> Pair | None:
        if not isinstance(value, list) or len(value) != 3 or not all(isinstance(name, str) for name in value[:2]):
            self.complain(f"{what} is {shown(value)}", "write [stream, stream, factor]")
            return None
        return value[0], value[1], self.amount(value[2], f"the factor of {what}")

    def _surface(self, body: Object, owner: str, known: set[str]) -> RateFunction:
        self.check_keys(body, ("inputs", "knots", "rates"), f"the surface of {owner}")
        inputs = self.texts(body, "inputs", f"the surface of {owner}")
        self._check_inputs(inputs, owner, known)
        axes = self.values(body, "knots", owner)
        knots = [self._knots(axis, f"knots[{i}] of {owner}") for i, axis in enumerate(axes)]
        rates = self.amounts(self.values(body, "rates", owner), "rates", owner)
        if len(knots) != len(inputs) + 1:
            message = f"{owner} has {len(knots)} axes in `knots` for {len(inputs)} inputs and the mips"
            self.complain(message, "write one for each input, then one for the mips")
        elif rates is not None and None not in knots:
            return self._grid(inputs, [axis for axis in knots if axis], rates, owner)
        return HARMLESS

    def _grid(self, inputs: list[str], knots: list[tuple[float, ...]], rates: list[float], owner: str) -> RateFunction:
        shape = [len(axis) for axis in knots]
        if len(rates) != math.prod(shape):
            message = f"{owner} has {len(rates)} rates for a grid of {math.prod(shape)} points"
            self.complain(message, "write one for each point, the mips' axis running fastest")
            return HARMLESS
        grid = np.array(rates).reshape(shape)
        if any((np.diff(grid, axis=axis) < 0).any() for axis in range(grid.ndim)):
            self.complain(f"the rates of {owner} fall along an axis", "more must never give less")
        return Surface(inputs=tuple(inputs), knots=tuple(knots), rates=tuple(rates))

    def _knots(self, axis: object, what: str) -> tuple[float, ...] | None:
        if isinstance(axis, list) and axis and all(map(self.is_amount, axis)):
            points = tuple(map(float, axis))
            if all(a < b for a, b in pairwise(points)):
                return points
        self.complain(f"{what} is {shown(axis)}", f"write numbers from 0 to {LARGEST:g} in rising order")
        return None

    def _check_inputs(self, streams: Sequence[str], owner: str, known: set[str]) -> None:
        for stream in dict.fromkeys(streams):
            if stream not in known:
                message = f"the rate of {owner} depends on `{stream}`, which the PE does not read"
                self.complain(message, f"name one of its `inputs`, or `{PRIMAL}`")
