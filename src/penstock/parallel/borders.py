"""The border of a region: what decides whether regions fit together where their streams meet (`meeting`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.ir.expressions import Expression
from penstock.ir.graph import InputPort
from penstock.parallel.reasons import Condition, Reason, key_text

Attributes = frozenset[tuple[str, str]] | None
"""Names with types; None where there is no stream to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """The border of a region: the facts that decide whether regions fit together.

    Attributes:
        inside: The operators, as bits.
        above: Those outside from which an entry can be reached, as bits.
        enters: The attributes that all entering streams have.
        key: None as long as all operators are stateless.
        widths: The widths that `@parallel` asks for.
        is_prolific: Whether some operator makes several tuples of one.
        is_spontaneous: Whether some operator fires by time.
    """

    inside: int
    above: int
    enters: Attributes
    key: frozenset[str] | None
    widths: tuple[Expression, ...]
    is_prolific: bool
    is_spontaneous: bool

    def with_(self, other: Border) -> Border:
        """The border around both."""
        keys = [border.key for border in (self, other) if border.key is not None]
        return Border(
            inside=self.inside | other.inside,
            above=self.above | other.above,
            enters=common([self.enters, other.enters]),
            key=frozenset.intersection(*keys) if keys else None,
            widths=self.widths or other.widths,
            is_prolific=self.is_prolific or other.is_prolific,
            is_spontaneous=self.is_spontaneous or other.is_spontaneous,
        )

    def conflict(self, *, by_time: bool = False) -> Reason | None:
        """Why what is inside cannot be one region, whatever it is made of; `by_time` is the extension of that name."""
        if self.key and not self.key <= {name for name, _ in self.enters or ()}:
            return Reason(condition=Condition.KEYS, text=f"not every stream that would enter has {key_text(self.key)}")
        if self.above & self.inside:
            return Reason(condition=Condition.FAN_IN, text="a path would leave the region and come back into it")
        if self.is_prolific and self.is_spontaneous and not by_time:
            text = "what meets makes several tuples of one and fires by time"
            return Reason(condition=Condition.SELECTIVITY, text=text)
        return None


def shared(ports: Iterable[InputPort]) -> Attributes:
    """The attributes that all ports have, with the same type."""
    return common([frozenset((a.name, str(a.type)) for a in port.schema.attributes) for port in ports])


def common(attributes: Iterable[Attributes]) -> Attributes:
    """The attributes that all of these have, those that are None left out; None if all are."""
    found = [some for some in attributes if some is not None]
    return frozenset.intersection(*found) if found else None
