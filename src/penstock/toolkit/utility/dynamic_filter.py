"""DynamicFilter: passes on the tuples whose key is in a set; other input ports add keys to the set and remove them.

The first input port is filtered, the second adds keys, the third, if there is one, removes them. Tuples whose key is
not in the set leave by the second output port, if there is one. Window markers of the first port are passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import TupleType, TypedName
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Punctuation, Submit

_PARAMS = ("key", "addKey", "removeKey")


class DynamicFilterRuntime(LogicRuntime):
    """Keeps the set of keys."""

    remembers = ("_keys",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._keys: set[Hashable] = set()

    def taker(self, port: int) -> Submit:
        """A function that filters, adds or removes, by port."""
        key = self._key(port)
        if port == 0:
            return self._filter(key)
        change = self._keys.add if port == 1 else self._keys.discard
        return lambda tuple_: change(key(tuple_))

    def take_window_marker(self, port: int) -> None:
        """Pass on a marker of the first port."""
        if port == 0:
            for punctuate in self.punctuate:
                punctuate(Punctuation.WINDOW)

    def _filter(self, key: Callable[[Tuple], Hashable]) -> Submit:
        keys, passed = self._keys, self.submit[0]
        rejected = self.submit[1] if len(self.submit) > 1 else _drop

        def divide(tuple_: Tuple) -> None:
            (passed if key(tuple_) in keys else rejected)(tuple_)

        return divide

    def _key(self, port: int) -> Callable[[Tuple], Hashable]:
        values = self.operator.param(_PARAMS[port])
        make = self.row(values)
        identity = identity_of(TupleType(tuple(TypedName(f"_{i}", v.type) for i, v in enumerate(values))))
        before, after = (None,) * port, (None,) * (len(self.operator.inputs) - port - 1)
        if identity is None:
            return lambda tuple_: make(*before, tuple_, *after)
        return lambda tuple_: identity(make(*before, tuple_, *after))


def _drop(tuple_: Tuple) -> None:
    """Let go of a tuple."""


def _check(operator: Operator, found: Diagnostics) -> None:
    wanted = [v.type for v in operator.param("key")]
    for param in _PARAMS[1:]:
        values = operator.param(param)
        if values and [v.type for v in values] != wanted:
            given = ", ".join(str(v.type) for v in values)
            message = f"`{param}` has the types ({given}), but `key` has ({', '.join(map(str, wanted))})"
            found.error(message, values[0].span or operator.span, hint="cast them to the types of `key`")
    if bool(operator.param("removeKey")) != (len(operator.inputs) == 3):
        found.error("a DynamicFilter has `removeKey` if and only if it has a third input port", operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "its set of keys belongs to the whole stream")


DEFINITION = OperatorDefinition(
    name="DynamicFilter",
    doc="Passes on the tuples of the first port whose key the second port has added, and the third not removed.",
    inputs=(2, 3),
    outputs=(1, 2),
    params=(
        ParamSpec(name="key", required=True, many=True, ports=(0,), doc="The key of a tuple to filter."),
        ParamSpec(name="addKey", required=True, many=True, ports=(1,), doc="The key that a tuple adds."),
        ParamSpec(name="removeKey", many=True, ports=(2,), doc="The key that a tuple of the third port removes."),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(is_repeatable=True),
    model=_model,
    check=_check,
    runtime=DynamicFilterRuntime,
)
