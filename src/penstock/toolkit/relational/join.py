"""Join: pairs each tuple of a port with the matching tuples in the window of the other port.

A tuple is first compared with everything in the other window, in order of arrival; each match gives an output tuple.
Then it makes room in its own port's window and goes in. If anything has left by the first output port, a window marker
follows. `count(0)` gives a side no memory: its tuples only look for partners. Windows slide; a partitioned one evicts
within each partition, but matches are looked for in all of them. Where `equalityLHS` and `equalityRHS` are given, only
tuples with equal values there can match, and they are found by hashing; `match` may ask for more.

The algorithms `leftOuter`, `rightOuter` and `outer` also send a tuple that leaves its window without ever having
matched, together with the default tuple of the other side; or, if there is an output port for each such side after the
first one, the tuple as it is on that port. So what a tuple pushes out of the window comes behind its own matches. What
leaves by time has no marker, and what is still in a window at the end is not sent. The window markers of the inputs do
not go through.

With `partitionAge` in the clause of a partitioned window a partition is forgotten, with all that it holds, when no
tuple has come into it for so many seconds: its tuples match nothing any more, and an outer join does not send them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.expr.values import default_value
from penstock.ir.expressions import Attribute, Expression
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator, PolicyKind, Window, WindowKind
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, State, Why
from penstock.ir.types import BOOLEAN
from penstock.toolkit.analysis.logic_analysis import forwarded_by_output_clause
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec, WindowUse
from penstock.toolkit.core.logic_runtime import LogicRuntime, symbol
from penstock.toolkit.core.runtime import Context, Punctuation, Submit
from penstock.toolkit.relational.aggregate import check_partitioned
from penstock.toolkit.relational.join_sides import Entries, Side
from penstock.toolkit.windows.eviction import Eviction, eviction
from penstock.toolkit.windows.partition import Key, check_keys, key_function, key_names, of_port
from penstock.toolkit.windows.policy import check_window, fires_on_every_tuple, ready_age_ns, ready_window

SIDES = ("LHS", "RHS")
_OUTER = {"inner": (False, False), "leftOuter": (True, False), "rightOuter": (False, True), "outer": (True, True)}


class JoinRuntime(LogicRuntime):
    """A Join at work."""

    remembers = ("entries",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        match = operator.param("match")
        self.match = self.scalar(match[0]) if match else None
        self.output = self.output_row()
        self._has_sent = False
        self.sides = [self._make_side(port) for port in (0, 1)]
        self.entries = Entries(self.sides, key_names(operator.param("equalityLHS")))
        for output, port in enumerate(_lonely_sides(self.symbol("algorithm", "inner")), start=1):
            alone = len(operator.outputs) > 1
            self.sides[port].unmatched = self._pass_alone(output) if alone else self._send_with_default(port)

    def taker(self, port: int) -> Submit:
        """Take each tuple in and send its matches."""
        side, candidates = self.sides[port], self.sides[1 - port].candidates
        match, output, submit, punctuate = self.match, self.output, self.submit[0], self.punctuate[0]

        def take(tuple_: Tuple) -> None:
            self._has_sent = False
            entry = side.enter(tuple_)
            for partner in candidates(entry.key):
                pair = (tuple_, partner.tuple) if port == 0 else (partner.tuple, tuple_)
                if match is None or match(*pair):
                    entry.matched = partner.matched = True
                    submit(output(*pair))
            side.keep(entry)
            if entry.matched or self._has_sent:
                punctuate(Punctuation.WINDOW)

        return take

    def take_window_marker(self, port: int) -> None:
        """Markers of the inputs stop here."""

    def _make_side(self, port: int) -> Side:
        window = self.operator.inputs[port].window
        assert window is not None
        ready = ready_window(window, self.context.evaluator, lambda e: of_port(self.scalar(e), port, 2))

        def make_memory(evicted: Callable[[Any], None]) -> Eviction:
            return eviction(ready.eviction, self.context.environment.clock, evicted)

        keeps_ns = ready.eviction.size if ready.eviction.kind is PolicyKind.TIME else None
        keys = self._key("partitionBy", port), self._key("equality", port)
        age_ns = ready_age_ns(window, self.context.evaluator)
        return Side(make_memory, *keys, self.context, keeps_ns=keeps_ns, age_ns=age_ns)

    def _key(self, prefix: str, port: int) -> Key | None:
        expressions = self.operator.param(prefix + SIDES[port])
        return key_function(expressions, lambda e: of_port(self.row(e), port, 2))

    def _pass_alone(self, output: int) -> Callable[[Tuple], None]:
        return lambda tuple_: self.submit[output](tuple_)

    def _send_with_default(self, port: int) -> Callable[[Tuple], None]:
        missing = 1 - port
        default = self.constant(f"defaultTuple{SIDES[missing]}")
        if default is None:
            default = default_value(self.operator.inputs[missing].schema)

        def send(tuple_: Tuple) -> None:
            self._has_sent = True
            self.submit[0](self.output(tuple_, default) if port == 0 else self.output(default, tuple_))

        return send


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    check_keys(operator, [prefix + side for prefix in ("partitionBy", "equality") for side in SIDES], found)
    for port, side in zip(operator.inputs, SIDES, strict=True):
        window = port.window
        assert window is not None
        check_window(operator, port, found)
        check_partitioned(operator, window, f"partitionBy{side}", found)
        if window.kind is not WindowKind.SLIDING:
            found.error(f"the {side} window of a Join slides, found a tumbling one", operator.span)
        elif not fires_on_every_tuple(window):
            message = "a Join looks for matches on every tuple, so its windows have no trigger but count(1)"
            found.error(message, operator.span)
        _check_default(operator, f"defaultTuple{side}", port.schema, found)
    _check_equality(operator, found)
    _check_outputs(operator, found)


def _check_outputs(operator: Operator, found: Diagnostics) -> None:
    """Report further output ports that the algorithm has no tuples for, or whose schema is another."""
    algorithm = symbol(operator, "algorithm", "inner")
    sides = _lonely_sides(algorithm)
    further = operator.outputs[1:]
    if further and len(further) != len(sides):
        wanted = f"1 or {1 + len(sides)} output ports" if sides else "1 output port"
        message = f"a Join with the algorithm {algorithm} has {wanted}, found {len(operator.outputs)}"
        found.error(message, operator.span)
        return
    for port, side in zip(further, sides, strict=False):
        schema = operator.inputs[side].schema
        if port.schema != schema:
            message = f"`{port.stream}` gets the {SIDES[side]} tuples as they are, {schema}, but has {port.schema}"
            found.error(message, operator.span)


def _lonely_sides(algorithm: str) -> list[int]:
    """The input ports whose tuples are sent alone if nothing matched them."""
    return [port for port, is_outer in enumerate(_OUTER[algorithm]) if is_outer]


def _check_default(operator: Operator, param: str, schema: Any, found: Diagnostics) -> None:
    for value in operator.param(param):
        if value.type != schema:
            found.error(f"`{param}` must be of type {schema}, found {value.type}", value.span or operator.span)


def _check_equality(operator: Operator, found: Diagnostics) -> None:
    left, right = operator.param("equalityLHS"), operator.param("equalityRHS")
    if [e.type for e in left] != [e.type for e in right]:
        sides = [", ".join(str(e.type) for e in side) or "nothing" for side in (left, right)]
        message = f"`equalityLHS` and `equalityRHS` must agree, found ({sides[0]}) and ({sides[1]})"
        found.error(message, operator.span, hint="give both the same number of expressions, of the same types")


def model(operator: Operator) -> OperatorModel:
    """Partitioned by those of its equality keys within which both windows evict."""
    algorithm = symbol(operator, "algorithm", "inner")
    forwards = forwarded_by_output_clause(operator) if algorithm in ("inner", "leftOuter") else frozenset()
    why = Why(Flag.SELECTIVITY, "a tuple may match any number of others")
    base = OperatorModel(
        forwarding=Forwarding.ALWAYS,
        forwards=forwards,
        spontaneous=algorithm != "inner" and _evicts_by_time(operator),
        markers=Markers.OWN,
        why=(why,),
    )
    keys = _common_keys(operator)
    if not keys:
        reason = "its windows are not both by time or partitioned by its equality keys"
        return replace(base, why=(Why(Flag.STATE, reason), why))
    by_port = (frozenset(left for left, _ in keys), frozenset(right for _, right in keys))
    return replace(base, state=State.PARTITIONED, partition_by=by_port)


def _evicts_by_time(operator: Operator) -> bool:
    windows = (port.window for port in operator.inputs)
    return any(window is not None and window.eviction.kind is PolicyKind.TIME for window in windows)


def _common_keys(operator: Operator) -> list[tuple[str, str]]:
    pairs = zip(operator.param("equalityLHS"), operator.param("equalityRHS"), strict=True)
    return [
        (left.name, right.name)
        for left, right in pairs
        if isinstance(left, Attribute) and isinstance(right, Attribute)
        if _evicts_within(operator, 0, left) and _evicts_within(operator, 1, right)
    ]


def _evicts_within(operator: Operator, port: int, key: Attribute) -> bool:
    """Whether what a port's window evicts depends only on tuples with the same value of an attribute."""
    window = operator.inputs[port].window
    assert window is not None
    return _keeps_by_time(window) or (window.partitioned and _is_key(operator.param(f"partitionBy{SIDES[port]}"), key))


def _keeps_by_time(window: Window) -> bool:
    size = window.eviction.size
    keeps_nothing = window.eviction.kind is PolicyKind.COUNT and getattr(size, "value", None) == 0
    return window.eviction.kind is PolicyKind.TIME or keeps_nothing


def _is_key(keys: Sequence[Expression], attribute: Attribute) -> bool:
    return all(isinstance(e, Attribute) for e in keys) and attribute in keys


DEFINITION = OperatorDefinition(
    name="Join",
    doc="Pairs tuples of two streams that match, within windows.",
    inputs=(2, 2),
    outputs=(1, 3),
    params=(
        ParamSpec(name="match", types=(BOOLEAN,), doc="What a pair must fulfil; all pairs match by default."),
        ParamSpec(
            name="algorithm",
            kind=ParamKind.SYMBOLS,
            symbols=tuple(_OUTER),
            doc="Which tuples are sent although nothing matched them.",
        ),
        ParamSpec(name="partitionByLHS", many=True, ports=(0,), doc="The key of the left window, if partitioned."),
        ParamSpec(name="partitionByRHS", many=True, ports=(1,), doc="The key of the right window, if partitioned."),
        ParamSpec(name="equalityLHS", many=True, ports=(0,), doc="What must equal `equalityRHS` in a match."),
        ParamSpec(name="equalityRHS", many=True, ports=(1,), doc="What must equal `equalityLHS` in a match."),
        ParamSpec(
            name="defaultTupleLHS", kind=ParamKind.CONSTANT, doc="The left tuple where only the right one is sent."
        ),
        ParamSpec(
            name="defaultTupleRHS", kind=ParamKind.CONSTANT, doc="The right tuple where only the left one is sent."
        ),
    ),
    windows=WindowUse.REQUIRED,
    output=OutputClause.ASSIGN,
    assigned_outputs=1,
    facts=Facts(forwards_from_all=True, is_repeatable=True),
    model=model,
    check=check,
    runtime=JoinRuntime,
)
