"""Many programs side by side in one application, so that one query on Spark runs all of them.

The programs have nothing in common: the ids of operators and streams, the kinds that are not standard and the files of
sinks are prefixed by the program's name. Sources take turns in one order over all programs, so what they print
alternates; what the reference makes of the pack is what Spark has to make of it.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from compiling import compile_fused
from penstock.expr import typing as build
from penstock.expr.environment import Environment
from penstock.ir.expressions import Expression, Literal
from penstock.ir.graph import Application, InputPort, Operator, OutputPort, Param
from penstock.lang import compile_text
from penstock.reference import run
from penstock.spark.job.run import run_on_spark
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.program import Program
from spark_session import Fusion, files, session

FIXTURES = Path(__file__).parents[1] / "fixtures" / "spl" / "valid"
Read = Callable[[Path, str], dict[str, object]]
"""What lies in a folder and what was printed, in a form that can be compared."""

PRINTED, ON_CONSOLE = "what code prints", "what ConsoleSink prints"


def compile_fixture(path: Path) -> Program:
    """A program of the fixtures; its functions are in a namespace of their own, so that it can stand beside others."""
    text = path.read_text(encoding="utf-8")
    return compile_text(text if "\nnamespace " in text else f"namespace the_{path.stem}; {text}", path=path.name)


@cache
def fixtures() -> dict[str, Program]:
    """The fixtures in which tuples flow; the others print in an operator without ports, which is never cut."""
    found = {path.stem: compile_fixture(path) for path in sorted(FIXTURES.glob("*.spl"))}
    return {stem: program for stem, program in found.items() if program.application.streams}


def packed(name: str, programs: Mapping[str, Program]) -> Program:
    """One program of several, by the prefix that each gets."""
    operators = [_renamed(o, prefix) for prefix, p in programs.items() for o in p.application.operators]
    functions = dict.fromkeys(f for program in programs.values() for f in program.application.functions)
    own = [_in_namespace(d, prefix) for prefix, p in programs.items() for d in p.registry.definitions() if _is_own(d)]
    return Program(
        application=Application(name=name, operators=tuple(operators), functions=tuple(functions)),
        registry=standard().extended(own),
    )


def _is_own(definition: OperatorDefinition) -> bool:
    return definition.kind not in standard().names()


def _in_namespace(definition: OperatorDefinition, prefix: str) -> OperatorDefinition:
    return replace(definition, namespace=prefix, name=definition.kind.replace("::", "_"))


def _renamed(operator: Operator, prefix: str) -> Operator:
    is_standard = operator.kind in standard().names()
    params = operator.params if operator.outputs else tuple(_param(param, prefix) for param in operator.params)
    return replace(
        operator,
        id=f"{prefix}.{operator.id}",
        kind=operator.kind if is_standard else f"{prefix}::{operator.kind.replace('::', '_')}",
        inputs=tuple(_input(port, prefix) for port in operator.inputs),
        outputs=tuple(_output(port, prefix) for port in operator.outputs),
        params=params,
    )


def _input(port: InputPort, prefix: str) -> InputPort:
    streams = tuple(f"{prefix}.{stream}" for stream in port.streams)
    return replace(port, streams=streams, feedback=frozenset(f"{prefix}.{stream}" for stream in port.feedback))


def _output(port: OutputPort, prefix: str) -> OutputPort:
    return replace(port, stream=f"{prefix}.{port.stream}")


def _param(param: Param, prefix: str) -> Param:
    """A sink's file in a folder of its own."""
    return replace(param, values=tuple(_path(v, prefix) for v in param.values)) if param.name == "file" else param


def _path(value: Expression, prefix: str) -> Expression:
    return build.binary("+", Literal(type=value.type, value=f"{prefix}/"), value)


def in_two_layers(application: Application) -> Fusion:
    """The operators next to the sources in one PE, those behind them in another; programs with loops stay whole."""
    with_loops = {o.id.partition(".")[0] for o in application.operators for port in o.inputs if port.feedback}
    depth: dict[str, int] = {}

    def depth_of(id_: str) -> int:
        if id_ not in depth:
            streams = [s for port in application.operator[id_].inputs for s in port.streams]
            depth[id_] = 1 + max((depth_of(application.streams[s].operator) for s in streams), default=-1)
        return depth[id_]

    first = [o.id for o in application.operators if o.id.partition(".")[0] not in with_loops and depth_of(o.id) <= 1]
    return [first, [o.id for o in application.operators if o.id not in set(first)]]


def outcome_of_reference(program: Program, data: Path, read: Read | None = None) -> dict[str, object]:
    """What the reference interpreter prints and writes; Spark writes dead letters, which it only counts."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as out:
        run(program, environment=_environment(data, Path(out), printed))
        return (read or _outcome)(Path(out), printed.getvalue())


def outcome_on_spark(
    program: Program, data: Path, fusion: Fusion, *, turns_per_batch: int, channels: int, read: Read | None = None
) -> tuple[dict[str, object], int]:
    """What a program prints and writes on Spark, as `read` finds it, and in how many batches."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as checkpoint:
        settings = _environment(data, Path(out), printed)
        job = compile_fused(program, fusion, channels=channels, environment=settings, batch=turns_per_batch)
        ran = run_on_spark(job, session(), checkpoint=Path(checkpoint) / "job")
        return (read or _outcome)(Path(out), printed.getvalue()), ran.batches


def _environment(data: Path, out: Path, printed: io.StringIO) -> Environment:
    return Environment(data_directory=data, output_directory=out, application_directory=FIXTURES, stdout=printed)


def _outcome(out: Path, printed: str) -> dict[str, object]:
    """What has come out; a ConsoleSink prints a batch at once, so its lines stand by themselves."""
    found: dict[str, object] = {n: content for n, content in files(out).items() if n != "dead_letters.jsonl"}
    lines = printed.encode().splitlines(keepends=True)
    for kind in (PRINTED, ON_CONSOLE):
        found[kind] = b"".join(line for line in lines if line.startswith(b"{console=") is (kind == ON_CONSOLE))
    return found
