"""A generated module at work: one instance of a PE, batch after batch."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from penstock.codegen.arriving import Arriving, Values, arriving
from penstock.codegen.endings import Endings, exit_edge
from penstock.codegen.frames import Frame
from penstock.codegen.generate import Generated
from penstock.codegen.leaving import Leaving
from penstock.codegen.part import Part, Target
from penstock.codegen.python_functions import functions_of
from penstock.expr.emit_parts import LogicState
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.statements import Logic
from penstock.toolkit.program import Program

STATE_VERSION = 1

Counts = dict[str, list[int]]


class OperatorError(Exception):
    """An operator of a generated PE failed.

    Attributes:
        operator: Its id.
        error: What was raised.
    """

    def __init__(self, operator: str, error: Exception) -> None:
        super().__init__(f"operator `{operator}` failed: {error}")
        self.operator = operator
        self.error = error


class Batch:
    """What the generated function sees of a batch.

    Attributes:
        frames: What has come, by edge.
        states: The states of operators, by id.
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
    """

    def __init__(self, arriving: Arriving, leaving: Leaving, states: dict[str, Any]) -> None:
        self.frames: dict[int, Frame] = arriving.frames
        self.leave = leaving.add
        self._time_ns = arriving.time_ns
        self.states = states
        self.received: Counts = {}
        self.submitted: Counts = {}

    def times(self, frame: Frame) -> list[int]:
        """The time of each row, in ns."""
        found: list[int] = self._time_ns[frame.places.item].tolist()
        return found


class Variables:
    """The variables of a logic clause."""

    def __init__(self, variables: LogicState) -> None:
        self.variables = variables

    def remember(self) -> dict[str, Any]:
        """Their values."""
        return dict(vars(self.variables))

    def recall(self, state: dict[str, Any]) -> None:
        """Take these values."""
        for name, value in state.items():
            setattr(self.variables, name, value)


class GeneratedPE:
    """One instance of a generated PE.

    Attributes:
        received: For each operator, the tuples that came in by each input port with the last batch.
        submitted: Likewise, those that went out.
    """

    def __init__(self, generated: Generated, program: Program, environment: Environment) -> None:
        self.generated = generated
        self._part = generated.part
        self._schemas = self._part.schemas(self._part.entering), self._part.schemas(self._part.leaving)
        self._names = _load(generated, program, environment)
        self._endings = _endings(self._part)
        self._states: dict[str, Any] = self._names["fresh_states"]() if "fresh_states" in self._names else {}
        self._states |= {id_: self._variables(program, id_) for id_ in generated.variables}
        self._time_ns = 0
        self.received: Counts = {}
        self.submitted: Counts = {}

    def _variables(self, program: Program, id_: str) -> Variables:
        """The variables of a logic clause, as they are in the beginning."""
        logic = program.application.operator[id_].logic
        assert logic is not None
        evaluator = Evaluator(functions=program.application.functions, environment=self._names["environment"])
        only_state = Logic(state=logic.state)
        return Variables(evaluator.logic(only_state, ports=(), submit=(), punctuate=()).state)

    def take(self, values: Values) -> Iterator[tuple[int, list[bytes]]]:
        """Process a batch; yields the encoded values that leave, by edge.

        Raises:
            OperatorError: An operator failed; the state is then that of no batch, so the instance is of no more use.
        """
        entering, leaving_schemas = self._schemas
        came = arriving(values, entering)
        left = Leaving(came, leaving_schemas)
        batch = Batch(came, left, self._states)
        with np.errstate(all="ignore"):
            self._process(batch)
        for item, edge in came.finals:
            for rank, subscriber in enumerate(self._endings.end(f"feed {edge}")):
                left.add_final(exit_edge(subscriber), item, rank)
        self._time_ns = max(self._time_ns, came.latest_ns)
        self.received, self.submitted = batch.received, batch.submitted
        yield from left.encoded(self._time_ns)

    def remember(self) -> dict[str, Any]:
        """The state, as plain data."""
        return {
            "version": STATE_VERSION,
            "time_ns": self._time_ns,
            "open": dict(self._endings.open),
            "operators": {id_: state.remember() for id_, state in self._states.items()},
        }

    def recall(self, state: dict[str, Any]) -> None:
        """Go on where an instance that remembered this has stopped."""
        assert state["version"] == STATE_VERSION
        self._time_ns = state["time_ns"]
        self._endings.open = dict(state["open"])
        for id_, remembered in state["operators"].items():
            self._states[id_].recall(remembered)

    def _process(self, batch: Batch) -> None:
        try:
            self._names["process"](batch)
        except Exception as error:
            raise OperatorError(self._culprit(error), error) from error

    def _culprit(self, error: Exception) -> str:
        """The operator whose lines raised an exception."""
        trace, line = error.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_name == "process" and trace.tb_frame.f_globals is self._names:
                line = trace.tb_lineno
            trace = trace.tb_next
        found = [id_ for start, id_ in self.generated.lines if start <= line]
        return found[-1] if found else self._part.operators[0].id


_loaded = count()


def _load(generated: Generated, program: Program, environment: Environment) -> dict[str, Any]:
    name = f"<PE {generated.part.pe}, module {next(_loaded)}>"
    # Tracebacks show lines of the module only if they are told where to find them.
    linecache.cache[name] = (len(generated.text), None, generated.text.splitlines(True), name)
    names: dict[str, Any] = {"environment": environment, "__name__": f"pe_{generated.part.pe}"}
    functions: dict[str, dict[str, Any]] = {}
    for given, (id_, what) in generated.given.items():
        if id_ not in functions:
            functions[id_] = functions_of(program, program.application.operator[id_], environment)
        names[given] = functions[id_][what]
    exec(compile(generated.text, name, "exec"), names)
    return names


def _endings(part: Part) -> Endings:
    taken = {stream: [_subscriber(t) for t in targets] for stream, targets in part.targets.items()}
    return Endings(taken, {o.id: [port.stream for port in o.outputs] for o in part.operators})


def _subscriber(target: Target) -> str:
    return f"exit {target}" if isinstance(target, int) else f"{target[0]}:{target[1]}"
