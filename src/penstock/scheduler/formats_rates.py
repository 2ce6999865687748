"""Read resource functions from JSON: flows, tables, limits and surfaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from penstock.json_source import kind_of
from penstock.scheduler.formats_fields import Fields, Item, shown
from penstock.scheduler.problem import PRIMAL, Flow, Limits, RateFunction, Surface, Table

HARMLESS = Flow(mips_per_tps=1.0, selectivity=1.0)
"""What stands in for a function that cannot be read."""


class RateReader(Fields):
    """Reads the `rate` of an output."""

    def rate(self, place: str, item: Item, inputs: Sequence[str]) -> RateFunction:
        """A resource function of a PE with these inputs."""
        kind, body = self.variant(place, item, "rate", ("flow", "table", "limits", "surface"))
        if kind is None:
            return HARMLESS
        if kind == "table":
            return self.table(f"{place}: its rate", body)
        if not isinstance(body, dict):
            self._found.error(f"{place}: `{kind}` is {kind_of(body)}; give an object")
            return HARMLESS
        if kind == "flow":
            return self._flow(place, body)
        known = {*inputs, PRIMAL}
        return self._limits(place, body, known) if kind == "limits" else self._surface(place, body, known)

    def variant(
        self, place: str, item: Item, key: str, kinds: tuple[str, ...]
    ) -> tuple[str, object] | tuple[None, None]:
        """The kind and the body of a value that is written `{"kind": body}`."""
        body = item.get(key)
        if isinstance(body, dict) and len(body) == 1 and (kind := next(iter(body))) in kinds:
            return kind, body[kind]
        wanted = " or ".join(f'`{{"{kind}": ...}}`' for kind in kinds)
        given = "missing" if body is None else f"`{shown(body)}`"
        self._found.error(f"{place}: its `{key}` is {given}; give {wanted}")
        return None, None

    def _flow(self, place: str, body: Item) -> Flow:
        self.spelling(place, body, ("mips_per_tps", "selectivity"))
        cost = self.positive(place, body, "mips_per_tps")
        return Flow(mips_per_tps=cost, selectivity=self.number(place, body, "selectivity", required=True))

    def _limits(self, place: str, body: Item, known: set[str]) -> Limits:
        self.only(place, body, ("mips", "inputs", "products"))
        allowed = self.table(f"{place}: its `mips`", body.get("mips"))
        shares = self.mapping(place, body, "inputs")
        offered = [(s, self.checked(f"{place}: `{s}` in `inputs`", share)) for s, share in shares.items()]
        pairs = []
        products = body.get("products", [])
        for entry in products if isinstance(products, list) else [products]:
            if isinstance(entry, list) and len(entry) == 3 and all(isinstance(stream, str) for stream in entry[:2]):
                share = self.checked(f"{place}: `{shown(entry)}` in `products`", entry[2])
                pairs.append((str(entry[0]), str(entry[1]), share))
            else:
                self._found.error(f"{place}: `products` has `{shown(entry)}`; give `[stream, stream, factor]`")
        self._are_inputs(place, [*shares, *(stream for left, right, _ in pairs for stream in (left, right))], known)
        return Limits(allowed=allowed, offered=tuple(offered), pairs=tuple(pairs))

    def _surface(self, place: str, body: Item, known: set[str]) -> RateFunction:
        self.only(place, body, ("inputs", "knots", "rates"))
        inputs = self.texts(place, body, "inputs")
        self._are_inputs(place, inputs, known)
        knots = [self._knots(place, axis) for axis in self._list(place, body, "knots")]
        rates = [self.checked(f"{place}: `rates`", rate) for rate in self._list(place, body, "rates")]
        if len(knots) != len(inputs) + 1:
            message = f"{place}: `knots` has {len(knots)} axes for {len(inputs)} inputs and the mips"
            self._found.error(message, hint="give one for each input, then one for the mips")
        elif len(rates) != math.prod(map(len, knots)):
            message = f"{place}: `rates` has {len(rates)} numbers for a grid of {math.prod(map(len, knots))} points"
            self._found.error(message, hint="give one for each point, the mips' axis running fastest")
        elif rates:
            self._check_rising(place, np.array(rates).reshape([len(axis) for axis in knots]))
            return Surface(inputs=inputs, knots=tuple(knots), rates=tuple(rates))
        return HARMLESS

    def _check_rising(self, place: str, grid: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
        if any((np.diff(grid, axis=axis) < 0).any() for axis in range(grid.ndim)):
            self._found.error(f"{place}: `rates` fall along an axis", hint="more must never give less")

    def _knots(self, place: str, axis: object) -> tuple[float, ...]:
        points = tuple(self.checked(f"{place}: `knots`", x) for x in axis) if isinstance(axis, list) else ()
        if not points or any(b <= a for a, b in pairwise(points)):
            self._found.error(f"{place}: `knots` has the axis `{shown(axis)}`; give numbers in rising order")
            return (0.0,)
        return points

    def _list(self, place: str, body: Item, key: str) -> list[object]:
        value = body.get(key, [])
        if isinstance(value, list):
            return value
        self._found.error(f"{place}: `{key}` is {kind_of(value)}; give a list")
        return []

    def _are_inputs(self, place: str, streams: Sequence[str], known: set[str]) -> None:
        for stream in dict.fromkeys(streams):
            if stream not in known:
                self._found.error(
                    f"{place}: its rate depends on `{stream}`, which the PE does not read",
                    hint=f"name one of its `inputs`, or `{PRIMAL}`",
                )


def rate_to_json(rate: RateFunction) -> dict[str, object]:
    """A resource function as the format writes it.

    Example:
        >>> rate_to_json(Flow(mips_per_tps=2.0, selectivity=0.5))
        {'flow': {'mips_per_tps': 2.0, 'selectivity': 0.5}}
    """
    match rate:
        case Flow():
            return {"flow": {"mips_per_tps": rate.mips_per_tps, "selectivity": rate.selectivity}}
        case Table():
            return {"table": [list(point) for point in rate.points]}
        case Limits():
            mips = [list(point) for point in rate.allowed.points]
            return {"limits": {"mips": mips, "inputs": dict(rate.offered), "products": [list(p) for p in rate.pairs]}}
        case Surface():
            knots = [list(axis) for axis in rate.knots]
            return {"surface": {"inputs": list(rate.inputs), "knots": knots, "rates": list(rate.rates)}}
