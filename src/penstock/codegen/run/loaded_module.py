"""A generated module, loaded: its function, and fresh states for its operators."""

from __future__ import annotations

from itertools import count
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.modules import load_text
from penstock.codegen.functions.class_calls import ClassCalls
from penstock.codegen.plan.python_classes import class_calls
from penstock.codegen.plan.python_functions import functions_of
from penstock.codegen.write.generate import Module
from penstock.expr.emit.parts import LogicState
from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.ir.statements import Logic
from penstock.toolkit.core.program import Program

_loaded = count()


class OperatorError(Exception):
    """An operator of a generated PE failed.

    Attributes:
        operator: Its id.
        error: What was raised.
        variables: Those of the generated function when it failed.
    """

    def __init__(self, operator: str, error: Exception, variables: dict[str, Any]) -> None:
        super().__init__(f"operator `{operator}` failed: {error}")
        self.operator = operator
        self.error = error
        self.variables = variables


class Variables:
    """The variables of a logic clause."""

    def __init__(self, variables: LogicState) -> None:
        self.variables = variables

    def snapshot(self) -> dict[str, Any]:
        """Their values."""
        return dict(vars(self.variables))

    def restore(self, state: dict[str, Any]) -> None:
        """Take these values."""
        for name, value in state.items():
            setattr(self.variables, name, value)


class LoadedModule:
    """A generated module in this process; instances share it.

    Attributes:
        code: What was generated.
        kept: Classes of the user's without state, while no instance uses them; what they have loaded serves again.
    """

    def __init__(self, module: Module, program: Program, environment: Environment) -> None:
        self.code = module
        self.kept: dict[str, ClassCalls] = {}
        self._program = program
        self._names: dict[str, Any] = {"environment": environment, "__name__": f"pe_{module.part.pe}"}
        self._environment = environment
        self._random_at_first = environment.random.getstate()
        self._metrics_at_first = dict(environment.metrics)
        self._start_ns = environment.clock.now_ns
        self._provide(environment)
        self._execute()

    def process(self, batch: Any) -> None:
        """Run the generated function.

        Raises:
            OperatorError: An operator failed.
        """
        try:
            self._names["process"](batch)
        except Exception as error:
            line, variables = self._where(error)
            raise OperatorError(self._culprit(line), error, variables) from error

    def fresh_states(self) -> dict[str, Any]:
        """The states of operators as they are in the beginning, by id.

        Raises:
            OperatorError: A class of the user's cannot be made.
        """
        made: dict[str, Any] = self._names["fresh_states"]() if "fresh_states" in self._names else {}
        made |= {id_: self._variables(id_) for id_ in self.code.variables}
        return made | {id_: self._kept_or_fresh(id_) for id_ in self.code.classes}

    def snapshot_environment(self) -> dict[str, Any]:
        """The state of the environment that code may have changed: random numbers drawn, metrics counted."""
        state = self._environment.random.getstate()
        drawn = None if state == self._random_at_first else state
        return {"random": drawn, "metrics": dict(self._environment.metrics)}

    def restore_environment(self, state: dict[str, Any] | None, time_ns: int = 0) -> None:
        """Put back what another instance remembered, or what there was in the beginning.

        Args:
            state: What was remembered.
            time_ns: What the time was then; another batch may have been tried since.
        """
        environment = self._environment
        environment.clock.now_ns = max(self._start_ns, time_ns)
        environment.random.setstate((state and state["random"]) or self._random_at_first)
        environment.metrics.clear()
        environment.metrics.update(self._metrics_at_first if state is None else state["metrics"])

    def _provide(self, environment: Environment) -> None:
        functions: dict[str, dict[str, Any]] = {}
        for given, (id_, what) in self.code.given.items():
            if id_ not in functions:
                functions[id_] = functions_of(self._program, self._program.application.operator[id_], environment)
            self._names[given] = functions[id_][what]

    def _execute(self) -> None:
        load_text(self.code.text, self._names, f"<PE {self.code.part.pe}, module {next(_loaded)}>")

    def _variables(self, id_: str) -> Variables:
        logic = self._program.application.operator[id_].logic
        assert logic is not None
        functions = self._program.application.functions
        evaluator = Evaluator(functions=functions, environment=self._names["environment"])
        only_state = Logic(state=logic.state)
        return Variables(evaluator.logic(only_state, ports=(), submit=(), punctuate=()).state)

    def _kept_or_fresh(self, id_: str) -> ClassCalls:
        if id_ in self.kept:
            return self.kept.pop(id_)
        try:
            attributes = self._names[self.code.attributes[id_]] if id_ in self.code.attributes else None
            return class_calls(self._program, self._program.application.operator[id_], self._environment, attributes)
        except (EvaluationError, UserError) as error:
            raise OperatorError(id_, error, {}) from error

    def _where(self, error: Exception) -> tuple[int, dict[str, Any]]:
        """The line of the generated function that raised an exception, and the function's variables."""
        trace, line = error.__traceback__, 0
        variables: dict[str, Any] = {}
        while trace is not None:
            if trace.tb_frame.f_code.co_name == "process" and trace.tb_frame.f_globals is self._names:
                line, variables = trace.tb_lineno, dict(trace.tb_frame.f_locals)
            trace = trace.tb_next
        return line, variables

    def _culprit(self, line: int) -> str:
        """The operator whose lines raised an exception; the first of those that share a loop."""
        found = [id_ for start, id_ in self.code.lines if start <= line]
        return found[-1] if found else self.code.part.operators[0].id
