"""Compiles SPL text to a program: parse, resolve, check, expand, verify.

Syntax errors end the compilation after parsing; all other mistakes are collected over the whole program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.base import sandbox
from penstock.base.diagnostics import Diagnostics, SourceFile, Span, UserError, did_you_mean
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Expression
from penstock.ir.graph import Application, Operator
from penstock.ir.verify import verify
from penstock.lang.check.functions import FunctionTable
from penstock.lang.check.invocations import called
from penstock.lang.check.mistakes import error
from penstock.lang.check.scope import Compilation
from penstock.lang.expand.changing_exchange import follow_changes
from penstock.lang.expand.composites import CompositeTarget, Instance
from penstock.lang.expand.event_time import follow_event_time
from penstock.lang.expand.expand import Expanded, check_unused, expand, replicate
from penstock.lang.expand.feedback import mark_feedback
from penstock.lang.expand.host_constraints import placement_constraints
from penstock.lang.expand.own_metrics import separate_metrics
from penstock.lang.expand.port_metrics import count_on_ports
from penstock.lang.library import Library, Module, application_folder, check_uses, read_source
from penstock.lang.syntax import ast
from penstock.lang.toolkit_folders import toolkit_roots
from penstock.toolkit.core.operator_registry import Registry, standard
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from penstock.api.toolkits import PythonToolkit

NO_VALUES: Mapping[str, list[str]] = {}


def compile_file(
    path: str | Path,
    *,
    main: str | None = None,
    toolkits: Sequence[str | Path] = (),
    compile_values: Mapping[str, list[str]] = NO_VALUES,
    arguments: Sequence[str] = (),
) -> Program:
    """Compile a file of SPL.

    Args:
        path: The file with the main composite; other files of the application lie around it by namespace.
        main: The main composite, if the file has several.
        toolkits: Folders of SPL files and Python packages; a folder `toolkit` beside the file is one of them, but in a
            sandbox.
        compile_values: What getCompileTimeValue gives.
        arguments: Compile-time arguments: `@ARGV` of Perl in SPL.

    Raises:
        UserError: With every mistake found.
    """
    file = Path(path)
    source = read_source(file, tuple(arguments))
    own = file.parent / "toolkit"
    is_own = own.is_dir() and not sandbox.is_on()
    folders = toolkit_roots((*((own,) if is_own else ()), *map(Path, toolkits)))
    return _compile(source, main, folders, compile_values, file, arguments=tuple(arguments))


def compile_text(
    text: str,
    *,
    path: str = "<text>",
    main: str | None = None,
    toolkits: Sequence[str | Path] = (),
    compile_values: Mapping[str, list[str]] = NO_VALUES,
    registry: Registry | None = None,
) -> Program:
    """Compile SPL text.

    Args:
        text: Of one file.
        path: What messages call it.
        main: The main composite, if the text has several.
        toolkits: Folders of SPL files and Python packages.
        compile_values: What getCompileTimeValue gives.
        registry: The operators to use instead of the standard ones.

    Raises:
        UserError: With every mistake found.

    Example:
        >>> program = compile_text('''
        ...     composite Main {
        ...       graph
        ...         stream<int32 x> Numbers = Beacon() { param iterations: 3u; }
        ...         () as Sink = FileSink(Numbers) { param file: "numbers.csv"; }
        ...     }''')
        >>> [(o.id, o.kind) for o in program.application.operators]
        [('Numbers', 'Beacon'), ('Sink', 'FileSink')]
    """
    folders = toolkit_roots(map(Path, toolkits))
    return _compile(SourceFile(path=path, text=text), main, folders, compile_values, None, registry)


MOST_FRAMES = 10_000
"""Enough for sums of a thousand terms; small enough for the stack of a thread."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise Python's limit on nested calls for a while.

    Example:
        >>> with deep_recursion():
        ...     sys.getrecursionlimit() >= MOST_FRAMES
        True
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, MOST_FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@deep_recursion()
def _compile(
    source: SourceFile,
    main: str | None,
    toolkits: tuple[Path, ...],
    compile_values: Mapping[str, list[str]],
    file: Path | None,
    registry: Registry | None = None,
    arguments: tuple[str, ...] = (),
) -> Program:
    found = Diagnostics()
    python = _python_toolkits(toolkits)
    library = Library(registry=registry or standard(), python=python, arguments=arguments, found=found)
    module = library.add(source, file.resolve() if file else None)
    found.raise_if_any()
    assert module is not None
    folder = application_folder(file, module.namespace) if file else Path()
    library.application = folder if file else None
    library.toolkits = toolkits
    compilation = Compilation(library=library, found=found)
    compilation.functions = FunctionTable(compilation)
    try:
        application = _application(compilation, module, main, Evaluator(environment=_environment(compile_values)))
    except RecursionError:
        raise UserError(error("the program is nested too deeply", module.file.span).diagnostics) from None
    if application is not None:
        _check_reach(application, found)
    found.raise_if_any()
    assert application is not None
    return Program(
        application=verify(application),
        registry=library.registry,
        directory=folder,
        warnings=tuple(compilation.warnings),
    )


def _check_reach(application: Application, found: Diagnostics) -> None:
    """Report the operators that reach out of the sandbox, where programs run in one."""
    for operator in application.operators if sandbox.is_on() else ():
        if operator.facts.reaches_out:
            message = f"`{operator.kind}` reaches out of the sandbox, to servers or other jobs"
            found.error(message, operator.span, hint="run it without --sandbox if you trust it")


def _environment(compile_values: Mapping[str, list[str]]) -> Environment:
    return Environment(compile_values=compile_values, submission_values=compile_values)


def _python_toolkits(folders: tuple[Path, ...]) -> tuple[PythonToolkit, ...]:
    if not folders:
        # Only programs with toolkits pay for the Python front end.
        return ()
    from penstock.api.toolkits import PythonToolkit

    return tuple(map(PythonToolkit, folders))


def _application(
    compilation: Compilation, module: Module, main: str | None, evaluator: Evaluator
) -> Application | None:
    check_uses(module, compilation.library, compilation.found)
    _check_definitions(module, compilation)
    compilation.functions.check_file(module)
    composite = _main_composite(module, main, compilation.found)
    expanded: list[Expanded] = []
    if composite is not None:
        instance = Instance(compilation, CompositeTarget(composite=composite, module=module))
        expanded.extend(expand(instance))
    _check_unused(module, compilation)
    functions = compilation.functions.needed(e for item in expanded for e in _expressions(item.operator))
    copies = expanded if compilation.found else replicate(expanded, functions, evaluator)
    constraints = placement_constraints(copies, evaluator)
    registry = compilation.library.registry
    operators = count_on_ports([item.operator for item in copies], functions, registry, compilation.found)
    if compilation.found or composite is None:
        return None
    name = f"{module.namespace}::{composite.name}" if module.namespace else composite.name.text
    operators = follow_event_time(operators, functions, registry, compilation.found)
    if compilation.found:
        return None
    operators = follow_changes(separate_metrics(operators), functions, registry)
    return Application(name=name, operators=mark_feedback(operators), functions=functions, constraints=constraints)


def _check_unused(module: Module, compilation: Compilation) -> None:
    for definition in module.file.definitions:
        if isinstance(definition, ast.Composite) and id(definition) not in compilation.instantiated:
            check_unused(CompositeTarget(composite=definition, module=module), compilation)


def _expressions(operator: Operator) -> Iterator[Expression]:
    yield from called(operator.params, operator.outputs, operator.logic)
    for port in operator.inputs:
        if port.window is not None:
            for policy in (port.window.eviction, port.window.trigger):
                yield from (e for e in (policy.size, policy.attribute) if e is not None) if policy else ()


def _check_definitions(module: Module, compilation: Compilation) -> None:
    """Report names that are defined twice, and the mistakes of types that nobody uses."""
    seen: dict[str, ast.Definition] = {}
    for definition in module.file.definitions:
        name = definition.name.text
        other = seen.setdefault(name, definition)
        overloads = isinstance(other, ast.FunctionSyntax) and isinstance(definition, ast.FunctionSyntax)
        if other is not definition and not overloads:
            compilation.found.error(f"`{name}` is defined twice in this file", definition.name.span)
        if isinstance(definition, ast.TypeDefinition):
            try:
                compilation.scope_of(module).defined_type(definition)
            except UserError:
                continue


def _main_composite(module: Module, main: str | None, found: Diagnostics) -> ast.Composite | None:
    composites = [d for d in module.file.definitions if isinstance(d, ast.Composite)]
    candidates = [c for c in composites if not c.inputs and not c.outputs]
    if main is not None:
        wanted = main.rpartition("::")[2]
        chosen = [c for c in composites if c.name.text == wanted]
        if not chosen:
            hint = did_you_mean(wanted, [c.name.text for c in candidates])
            found.error(f"there is no composite `{main}`", _start(module), hint=hint)
            return None
        if chosen[0] not in candidates:
            found.error(f"`{main}` has ports, so it cannot be the main composite", chosen[0].name.span)
            return None
        return chosen[0]
    invoked = {i.operator.text for c in composites for i in c.invocations}
    mains = [c for c in candidates if c.name.text not in invoked] or candidates
    if len(mains) == 1:
        return mains[0]
    if mains:
        names = ", ".join(f"`{c.name}`" for c in mains)
        found.error(f"there are several main composites: {names}", mains[1].name.span, hint="choose one with --main")
    else:
        hint = "a main composite has no input and output ports"
        found.error("there is no main composite", composites[0].name.span if composites else _start(module), hint=hint)
    return None


def _start(module: Module) -> Span:
    return Span(source=module.file.span.source, start=0, end=1)
