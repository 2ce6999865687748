"""Generated PEs: one readable Python module for each, section 2 of the SPADE paper.

Introduction:
    A container pops items from a PE's inputs, sends them depth first through the operators inside, and collects what
    leaves. Done tuple by tuple that is correct for every program, and slow. This module writes, for the PEs that it
    can, a Python module that does the same to whole batches at once.

Formulation:
    The module has one function, `process`. Operators stand in it in an order in which every producer comes before its
    consumers, each as a few lines over frames: columns of all rows of a batch, with their places (`places`). A stream
    inside the PE is a variable. The depth-first order is not the order of the text; it is in the places of the
    rows, and where streams meet or leave they are brought into it.

Example:
    `stream<Trades> Large = Filter(Trades) { param filter: price > 10.0; }` becomes

        # Large: Filter
        large = trades.where(trades["price"] > 10.0)

When it does not apply:
    `why_not` says why: a loop of the graph, an operator without a generated form, an error policy that sets tuples
    aside, code with effects. Then the container runs the PE.

Algorithm:
    One pass over the operators, linear in the size of the graph and its expressions. `forms` has the writers.

Preserves:
    What leaves the PE, to the bit, and its order; the state between batches; the counts of tuples.

Reference:
    SPADE paper, section 2. We depart in that a PE has one thread and works on batches, and in that a call of the
    next operator is not a call but the next line.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.codegen.functions.writing import write_columns, write_row_calls
from penstock.codegen.plan.part import Part, feed, part_of
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.python_classes import CLASS, write_class
from penstock.codegen.plan.python_functions import write_batch_function
from penstock.codegen.plan.segments import PerTuple, Segment
from penstock.codegen.write.builder import Builder
from penstock.codegen.write.forms import KERNELS, fires_by_time
from penstock.codegen.write.layout import laid_out
from penstock.codegen.write.loops import LoopWriter
from penstock.codegen.write.module_imports import imports_of
from penstock.expr.analysis import functions_used, is_pure
from penstock.expr.emit.functions import emit_functions
from penstock.ir.expressions import Expression
from penstock.ir.graph import ErrorPolicy, Operator
from penstock.profiler.signals import Stretch
from penstock.toolkit.analysis.effects import does_print, operator_parts
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A generated module.

    Attributes:
        part: What the PE holds.
        text: The module.
        lines: The operators with the first of their lines, in order.
        given: For each name that the loader provides, what it is and of which operator.
        variables: The operators whose state is the variables of a logic clause.
        classes: The operators that are classes of the user's: their state is the memory of their runtime, or a table.
        attributes: For classes that have become columns, the name of what tells the attributes of their instances.
        inputs: For operators that take frames, the variables of those, by port.
        loops: For the first operator of each loop, all that share it.
        stretches: What its submit signals divide it into, if it has any.
    """

    part: Part
    text: str
    lines: tuple[tuple[int, str], ...]
    given: dict[str, tuple[str, str]]
    variables: tuple[str, ...]
    classes: tuple[str, ...]
    attributes: dict[str, str]
    inputs: dict[str, tuple[str, ...]]
    loops: dict[str, tuple[str, ...]]
    stretches: tuple[Stretch, ...] = ()


MOST_LEVELS = 50
"""How many choices of the depth-first order a PE may keep apart; a container keeps apart as many as there are."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why an operator has no generated form.

    Attributes:
        operator: The operator.
        text: What is in the way, as a sentence without its subject.
    """

    operator: Operator
    text: str

    def __str__(self) -> str:
        return f"`{self.operator.id}` ({self.operator.kind}) {self.text}"


def why_not(program: Program, part: Part) -> str | None:
    """Why a PE has no generated form, or None if it has one."""
    for reason in reasons(program, part).values():
        return str(reason)
    if len(part.operators) > 1:
        for operator in filter(fires_by_time, part.operators):
            return str(WhyNot(operator, "fires by time, so it is a piece of its own"))
    names = " and ".join(f"`{o.id}`" for o in effects_apart(program, part)[:2])
    return f"the effects of {names} would come in another order" if names else _ways_apart(part)


def reasons(program: Program, part: Part) -> dict[str, WhyNot]:
    """The operators of a PE that have no generated form, and why."""
    per_tuple = PerTuple(program, part)
    found = ((o, _why_not(o, part, per_tuple)) for o in part.operators)
    return {o.id: WhyNot(o, text) for o, text in found if text is not None}


def _ways_apart(part: Part) -> str | None:
    """Why there would be too many levels to sort by, if there would: each costs every row a number."""
    levels: dict[str, int] = {}
    for operator in part.operators:
        streams = [s for port in part.inputs[operator.id] for s in port]
        before = max((levels.get(s, 0) + (len(part.targets[s]) > 1) for s in streams), default=0)
        if before > MOST_LEVELS:
            return str(WhyNot(operator, f"lies behind more than {MOST_LEVELS} forks"))
        levels.update({port.stream: before + (len(operator.outputs) > 1) for port in operator.outputs})
    return None


def _why_not(operator: Operator, part: Part, per_tuple: PerTuple) -> str | None:
    if any(port.feedback for port in operator.inputs):
        return "closes a loop"
    if operator.on_error is ErrorPolicy.SKIP:
        return "sets tuples aside that it cannot process"
    if does_print(operator, part.plan.application.functions):
        return "prints, and what is printed has one order over all PEs"
    if operator.id in per_tuple.chosen:
        return per_tuple.why_not(operator)
    if per_tuple.functions[operator.id] is not None:
        return None
    if operator.id in per_tuple.classes:
        return per_tuple.why_no_class_loop(operator)
    kernel = KERNELS.get(operator.kind)
    if kernel is None:
        return "has no generated form"
    if operator.id in part.plan.contained:
        return "lies between operators whose effects have one order, and keeps one form of state in any fusion"
    if operator.logic is not None:
        return "has a logic clause beside its own work"
    reason = kernel.why_not(operator)
    if reason is not None:
        return reason
    functions = part.plan.application.functions
    if not all(isinstance(x, Expression) and is_pure(x, functions) for x in operator_parts(operator)):
        return "has an effect, or asks for the time or for random numbers"
    return None


def effects_apart(program: Program, part: Part) -> list[Operator]:
    """Operators whose effects could be seen in another order, if they could: they must all happen in one loop."""
    per_tuple = PerTuple(program, part)
    with_effects = [o for o in part.operators if per_tuple.has_effects(o)]
    if len(with_effects) < 2:
        return []
    heads = [o for o in part.operators if o.id in per_tuple.chosen]
    together = any({o.id for o in with_effects} <= {o.id for o in per_tuple.segment(h).operators} for h in heads)
    return [] if together else with_effects


def generate(program: Program, plan: PhysicalPlan, pe: int) -> Module | str:
    """The module of a PE, or the reason why it has none."""
    part = part_of(plan, pe)
    reason = why_not(program, part)
    if reason is not None:
        return reason
    builder = Builder(part)
    functions = plan.application.functions
    parts = [x for operator in part.operators for x in operator_parts(operator)]
    emit_functions(builder.module, functions_used(parts, functions))
    starts = _write(builder, PerTuple(program, part))
    return _assembled(builder, starts)


def _write(builder: Builder, per_tuple: PerTuple) -> list[tuple[int, str]]:
    """Write `process`; returns the operators with the first of their lines, counted from its beginning."""
    body, part = builder.body, builder.part
    for edge in part.entering:
        frame = builder.frames[feed(edge)] = body.name(edge.stream)
        body.add(f"# {edge.stream} comes by edge {edge.index}", f"{frame} = pe.frames[{edge.index}]")
    starts: list[tuple[int, str]] = []
    written: set[str] = set()
    for operator in part.operators:
        if operator.id in written:
            continue
        segment = per_tuple.segment(operator) if operator.id in per_tuple.chosen else Segment((operator,))
        written.update(o.id for o in segment.operators)
        body.add("", "# " + ", ".join(f"{o.id}: {o.kind}" for o in segment.operators))
        starts.append((len(body.lines), operator.id))
        if builder.signals is not None:
            builder.signals.begin((o.id for o in segment.operators), is_loop=operator.id in per_tuple.chosen)
        if operator.id in per_tuple.chosen:
            builder.loops[operator.id] = tuple(o.id for o in segment.operators)
            LoopWriter(builder, per_tuple, segment).write()
        elif operator.id in per_tuple.forms:
            write_function(builder, operator, per_tuple)
        elif (function := per_tuple.functions[operator.id]) is not None:
            write_batch_function(builder, operator, function.role)
        elif operator.id in per_tuple.classes:
            write_class(builder, operator, per_tuple.class_form(operator))
        else:
            KERNELS[operator.kind].write(builder, operator)
        if builder.signals is not None:
            builder.signals.end()
    body.add("")
    for edge in part.leaving:
        body.add(f"# {edge.stream} leaves by edge {edge.index}")
        body.add(f"pe.leave({edge.index}, {builder.branched(edge.stream, edge.index)})")
    _count(builder)
    return starts


def write_function(builder: Builder, operator: Operator, per_tuple: PerTuple) -> None:
    """Write an operator that is a function of the user's, as columns or row by row, with a word on why."""
    function, form = per_tuple.functions[operator.id], per_tuple.forms[operator.id]
    assert function is not None
    if isinstance(form, str):
        builder.body.add(f"# {function.role} row by row: {form}")
        write_row_calls(builder, operator, function.role)
    else:
        builder.body.add(f"# {function.role} by columns")
        write_columns(builder, operator, form, is_declared=function.is_declared)


def _count(builder: Builder) -> None:
    """Write down how many tuples each operator has taken and given."""
    received = ", ".join(f'"{id_}": [{", ".join(texts)}]' for id_, texts in builder.received.items())
    submitted = ", ".join(
        f'"{o.id}": [{", ".join(f"len({builder.frames[port.stream]})" for port in o.outputs)}]'
        for o in builder.part.operators
        if o.outputs
    )
    builder.body.add("", "# tuples that came to each input port, and that left each output port")
    builder.body.add(f"pe.received = {{{received}}}", f"pe.submitted = {{{submitted}}}")


def _assembled(builder: Builder, starts: list[tuple[int, str]]) -> Module:
    made = {id_: text for id_, text in builder.states.items() if text not in ("logic", CLASS)}
    if made:
        lines = [part for id_, text in made.items() for part in laid_out(f'        "{id_}": {text},')]
        builder.module.add(["def fresh_states():", "    return {", *lines, "    }"])
    builder.module.add(["def process(pe):", *builder.body.lines])
    body = builder.module.body()
    # Functions stand two lines below what comes before them.
    gap = "\n\n\n" if body.startswith("def ") else "\n\n"
    head = f"{_docstring(builder.part)}\n\n{imports_of(body)}{gap}".replace("\n\n\n\n", "\n\n")
    text = f"{head}{body}"
    first = text.splitlines().index("def process(pe):") + 1
    return Module(
        part=builder.part,
        text=text,
        lines=tuple((first + line, id_) for line, id_ in starts),
        given=builder.given,
        variables=tuple(id_ for id_, text in builder.states.items() if text == "logic"),
        classes=tuple(id_ for id_, text in builder.states.items() if text == CLASS),
        attributes=builder.attributes,
        inputs={id_: tuple(frames) for id_, frames in builder.inputs.items()},
        loops=builder.loops,
        stretches=() if builder.signals is None else builder.signals.stretches,
    )


def _docstring(part: Part) -> str:
    application = part.plan.application.name
    operators = "\n".join(f"    {o.id}: {o.kind}" for o in part.operators)
    return (
        f'"""PE {part.pe} of {application}.\n\n{operators}\n\n'
        'Generated by penstock: what is changed here is lost when it is generated again.\n"""'
    )
