"""Which operators are worked tuple by tuple, and which of them share a loop.

An operator is worked tuple by tuple if it has code of its own (a logic clause, a function of the user's), if its
expressions have effects, or if numpy and Arrow cannot compute them. A segment is such an operator with all those
downstream of it that take nothing but what the segment makes: a tree, worked depth first in one loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.codegen.functions.class_columns import CompiledClass
from penstock.codegen.functions.compiled import Compiled
from penstock.codegen.plan.part import Part, Target
from penstock.codegen.plan.python_classes import (
    PythonClass,
    compile_python_class,
    is_private,
    python_class,
    why_no_loop,
)
from penstock.codegen.plan.python_functions import PythonFunction, compile_python_function, python_function
from penstock.codegen.write.body import Body
from penstock.codegen.write.folding import conjuncts, fold
from penstock.codegen.write.forms import LOOPS
from penstock.codegen.write.vector_text import VectorText, sight
from penstock.expr.analysis import is_pure
from penstock.expr.emit.functions import emit_functions
from penstock.expr.emit.scope import Module
from penstock.ir.expressions import Expression, Literal
from penstock.ir.graph import Operator
from penstock.ir.models import State
from penstock.ir.statements import SubmitPunctuation
from penstock.toolkit.analysis.effects import operator_parts, stateful_calls
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True)
class Segment:
    """Operators that share a loop.

    Attributes:
        operators: The head first, then each after its producer.
    """

    operators: tuple[Operator, ...]

    @property
    def head(self) -> Operator:
        """The operator that takes what comes from outside."""
        return self.operators[0]


class PerTuple:
    """Tells the operators of a PE apart.

    Attributes:
        functions: For each operator, how it uses a function of the user's, if it does.
        classes: The operators that are classes of the user's.
        forms: For functions that are worked one operator after the other, how: as columns, or why row by row.
        chosen: The operators that are worked tuple by tuple, in loops that they share.
    """

    def __init__(self, program: Program, part: Part) -> None:
        self.program = program
        self.part = part
        self.functions: dict[str, PythonFunction | None] = {o.id: python_function(program, o) for o in part.operators}
        made_of = {o.id: python_class(program, o) for o in part.operators}
        self.classes: dict[str, PythonClass] = {id_: owner for id_, owner in made_of.items() if owner is not None}
        self.forms: dict[str, Compiled | str] = {}
        self.chosen = {o.id for o in part.operators if self._is_per_tuple(o)}
        self._take_functions_apart()

    def _take_functions_apart(self) -> None:
        """Let functions be worked one operator after the other, unless the order of effects in a loop can be seen."""
        in_loops: set[str] = set()
        alone: list[tuple[Operator, PythonFunction]] = []
        for operator in (o for o in self.part.operators if o.id in self.chosen and o.id not in in_loops):
            members = self.segment(operator).operators
            in_loops.update(o.id for o in members)
            if sum(map(self.has_effects, members)) < 2:
                alone += [(o, f) for o in members if (f := self.functions[o.id]) is not None and _is_apart(f)]
        self.chosen -= {o.id for o, _ in alone}
        self.forms = {o.id: compile_python_function(o, function) for o, function in alone}

    def why_not(self, operator: Operator) -> str | None:
        """Why an operator cannot be part of a loop, or None if it can."""
        function, logic = self.functions[operator.id], operator.logic
        if function is not None:
            return None if function.role in ("map", "filter", "flat map") else "has no generated form"
        form = LOOPS.get(operator.kind)
        if form is None or len(operator.inputs) != 1:
            return "has no generated form"
        reason = form.why_not(operator)
        if reason is not None or logic is None:
            return reason
        if logic.on_punctuation or logic.on_process is not None:
            return "has code for punctuation"
        if any(isinstance(s, SubmitPunctuation) for s in logic.statements()):
            return "submits markers"
        return None

    def why_no_class_loop(self, operator: Operator) -> str | None:
        """Why a class has no generated form, or None if it has one."""
        reason = why_no_loop(operator, self.classes[operator.id])
        if reason is not None or is_private(operator):
            return reason
        others = (o for o in self.part.operators if o.id != operator.id)
        if any((o.id in self.classes and not is_private(o)) or self.has_effects(o) for o in others):
            return "is a class whose state another operator may share"
        return None

    def class_form(self, operator: Operator) -> CompiledClass | str:
        """How a class is worked: as columns, or why row by row."""
        return compile_python_class(self.program, operator, self.classes[operator.id])

    def has_effects(self, operator: Operator) -> bool:
        """Whether the order of an operator's calls among those of others can be seen."""
        if self.functions[operator.id] is not None:
            return operator.model.state is not State.STATELESS
        return bool(stateful_calls(operator, self.program.application.functions))

    def gives_one_at_most(self, operator: Operator) -> bool:
        """Whether an operator submits at most one tuple to each port for each tuple, the ports in order."""
        function = self.functions[operator.id]
        return LOOPS[operator.kind].gives_one_at_most(operator) if function is None else function.role != "flat map"

    def passes_markers(self, operator: Operator) -> bool:
        """Whether window markers come through an operator."""
        return self.functions[operator.id] is not None or LOOPS[operator.kind].passes_markers

    def segment(self, head: Operator) -> Segment:
        """The segment that begins with an operator."""
        members = [head]
        for member in members:
            for port in member.outputs:
                members += [o for t in self.part.targets[port.stream] if (o := self._follower(t, port.stream))]
        return Segment(tuple(members))

    def _follower(self, target: Target, stream: str) -> Operator | None:
        """The operator that takes a stream and nothing else, if it is worked tuple by tuple."""
        if isinstance(target, int) or target[0] not in self.chosen or self.part.inputs[target[0]] != ((stream,),):
            return None
        return self.program.application.operator[target[0]]

    def _is_per_tuple(self, operator: Operator) -> bool:
        function = self.functions[operator.id]
        if function is not None:
            return not function.batch or function.role == "flat map" or operator.model.state is not State.STATELESS
        form = LOOPS.get(operator.kind)
        if form is None:
            return False
        if operator.logic is not None or form.is_only_form(operator):
            return True
        functions = self.program.application.functions
        expressions = [x for x in operator_parts(operator) if isinstance(x, Expression)]
        if not all(is_pure(x, functions) for x in expressions):
            return True
        parts = [part for x in expressions for part in self._evaluated(x, operator)]
        return any(self._needs_rows(x, operator) for x in parts)

    def _evaluated(self, x: Expression, operator: Operator) -> Iterable[Expression]:
        """The expressions evaluated one by one: the parts of a filter, each on the rows that the one before kept."""
        return conjuncts(fold(x)) if x in operator.param("filter") and len(operator.outputs) == 1 else (x,)

    def _needs_rows(self, x: Expression, operator: Operator) -> bool:
        if isinstance(x, Literal):
            return False
        scratch = Module(self.program.application.functions)
        emit_functions(scratch, self.program.application.functions)
        vectors = VectorText(Body(scratch))
        return vectors.column(x, sight(operator.inputs[0].schema, "t")).rows


def _is_apart(function: PythonFunction) -> bool:
    """Whether a function asks for nothing but its tuple: one that sees the clock runs in a loop that sets it."""
    plain = function.role in ("map", "filter", "flat map") and not function.batch
    return plain and "environment" not in inspect.signature(function.function).parameters
