"""A program while it is being drawn: its streams so far, and what operators are drawn with."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from .expressions import BASE, EXTRAS, Grower
from .program import Attributes, Op, Output


@dataclass
class Draft:
    """A program that grows.

    Attributes:
        rng: Where everything comes from.
        timed: How many more operators may act when time passes.
        ops: So far.
        schemas: Of the streams so far.
    """

    rng: Random
    timed: int
    ops: list[Op] = field(default_factory=list)
    schemas: dict[str, Attributes] = field(default_factory=dict)

    @property
    def grower(self) -> Grower:
        """Draws expressions that do not fail."""
        return Grower(self.rng)

    def add(self, op: Op) -> None:
        """Add an operator."""
        self.ops.append(op)
        self.schemas.update({output.stream: output.schema for output in op.outputs})

    def stream(self) -> str:
        """One of the streams, a late one more often."""
        names = list(self.schemas)
        return names[max(self.rng.randrange(len(names)) for _ in range(2))]

    def alike(self, stream: str) -> str:
        """A stream of the same schema, perhaps the same."""
        return self.rng.choice([name for name, schema in self.schemas.items() if schema == self.schemas[stream]])

    def port(self) -> tuple[tuple[str, ...], Attributes]:
        """The streams of an input port, and their schema."""
        first = self.stream()
        streams = [first]
        if self.rng.random() < 0.12:
            streams.append(self.alike(first))
        return tuple(dict.fromkeys(streams)), self.schemas[first]

    def takes_time(self) -> bool:
        """Whether an operator may act when time passes; it is counted if so."""
        if self.timed <= 0 or self.rng.random() < 0.4:
            return False
        self.timed -= 1
        return True

    def changed(self, schema: Attributes) -> Attributes:
        """A schema with an attribute more, or some less; the base stays."""
        rest = [a for a in schema if a not in BASE]
        if rest and self.rng.random() < 0.4:
            rest.remove(self.rng.choice(rest))
        if self.rng.random() < 0.4:
            taken = {name for name, _ in schema}
            free = next(f"e{i}" for i in range(20) if f"e{i}" not in taken)
            rest.append((free, self.rng.choice(EXTRAS)))
        return (*BASE, *rest)

    def assigned(self, wanted: Attributes, schema: Attributes, *, often: float = 0.3) -> Attributes:
        """Assignments for what is new, and for some of the rest."""
        return tuple(
            (name, self.grower.expression(type_, schema))
            for name, type_ in wanted
            if (name, type_) not in schema or self.rng.random() < often
        )

    def plain(self, name: str, kind: str, *params: tuple[str, str], outputs: int = 1, **more: object) -> Op:
        """An operator with one input port whose outputs have the input's schema."""
        streams, schema = self.port()
        made = tuple(Output(stream=name if i == 0 else f"{name}_{i}", schema=schema) for i in range(outputs))
        return Op(name=name, kind=kind, inputs=(streams,), outputs=made, params=params, **more)  # type: ignore[arg-type]
