"""`App`: builds the graph of an application from Python calls.

Everything goes through `App.invoke`, which can say all that an SPL invocation says; the methods of `Stream` are short
ways to say it. A mistake is reported at once, at the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.api.invocation import input_ports, made_params, output_ports, port_schema
from penstock.api.operators import definition_of, name_of
from penstock.api.outputs import Output
from penstock.api.readers import AppSources
from penstock.api.renaming import rename_in, renamed_ids
from penstock.api.runnable import AppRunning
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.spans import caller_span
from penstock.api.streams import Stream
from penstock.api.windows import WindowSpec
from penstock.base.diagnostics import Diagnostic, Diagnostics, Span, UserError, did_you_mean
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.ir.graph import Annotation, Application, ErrorPolicy, InputPort, Operator
from penstock.ir.verify import verify
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.invoke import invoke
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.program import Program

Kind = str | Callable[..., Any] | type | OperatorDefinition
"""A standard operator's name, a function, a subclass of `penstock.Operator`, or a definition made by hand."""


class App(AppSources, AppRunning):
    """A streaming application under construction.

    Args:
        name: As `explain` and the logs call it.
        directory: What its `data` folder is looked up in; by default the folder of the calling file.

    Example:
        >>> from penstock import App, agg, col
        >>> app = App("Evens")
        >>> numbers = app.beacon("uint64 n", iterations=5, n=agg.iteration_count())
        >>> evens = numbers.filter(col.n % 2 == 0).named("Evens")
        >>> app
        <App Evens: 2 operators, 2 streams>
        >>> [o.id for o in app.program().application.operators]
        ['Beacon', 'Evens']
    """

    def __init__(self, name: str = "Main", *, directory: str | Path | None = None) -> None:
        span = caller_span()
        self.name = name
        self.directory = Path(directory) if directory is not None else Path(span.source.path).parent if span else Path()
        self._operators: list[Operator] = []
        self._streams: list[Stream] = []
        self._first_streams: set[str] = set()
        self._constraints: list[Constraint] = []
        self._groups: dict[tuple[ConstraintKind, str], list[str]] = {}
        self._definitions: dict[str, OperatorDefinition] = {}
        self._functions: dict[Any, str] = {}
        self._loops: dict[str, str | None] = {}

    def __repr__(self) -> str:
        streams = sum(len(o.outputs) for o in self._operators)
        return f"<App {self.name}: {len(self._operators)} operators, {streams} streams>"

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators so far, in order of declaration.

        Example:
            >>> app = App()
            >>> _ = app.beacon("int32 x", iterations=5)
            >>> [operator.kind for operator in app.operators]
            ['Beacon']
        """
        return tuple(self._operators)

    def program(self) -> Program:
        """The finished application, verified.

        Raises:
            UserError: A feedback stream is not connected, or the graph is not well formed.

        Example:
            >>> app = App("Numbers")
            >>> numbers = app.beacon("int32 x", iterations=5)
            >>> app.program().application.name
            'Numbers'
        """
        open_loops = [name for name, closed in self._loops.items() if closed is None]
        if open_loops:
            raise UserError(f"the feedback stream `{open_loops[0]}` is never connected", hint="call its `connect`")
        groups = [Constraint(kind=kind, operators=tuple(dict.fromkeys(ids))) for (kind, _), ids in self._groups.items()]
        application = Application(
            name=self.name,
            operators=tuple(self._close_loops(o) for o in self._operators),
            constraints=(*self._constraints, *(c for c in groups if len(c.operators) > 1)),
        )
        registry = standard().extended(self._definitions.values())
        return Program(application=verify(application), registry=registry, directory=self.directory)

    def invoke(
        self,
        kind: Kind,
        *inputs: Stream | Sequence[Stream],
        outputs: Sequence[Output | SchemaLike] = (),
        params: Mapping[str, Any] | None = None,
        windows: Sequence[WindowSpec | None] = (),
        partitioned: bool = False,
        name: str | None = None,
        role: str | None = None,
        on_error: str = "fail",
        annotations: Sequence[Annotation] = (),
    ) -> tuple[Stream, ...]:
        """Invoke any operator; returns its output streams.

        Args:
            kind: A standard operator's name, a function, or a subclass of `Operator`.
            inputs: One argument for each input port; a list of streams is fan-in.
            outputs: One for each output port: an `Output`, or a schema alone.
            params: Values by name: columns and literals, attribute names, or words of the operator, as it asks.
            windows: One for each input port.
            partitioned: Whether the windows are partitioned.
            name: The operator's id; by default that of its first stream, or its kind with a number.
            role: How an undecorated function is used: `map`, `filter`, `flat map`, `source`, `sink`.
            on_error: `fail`, or `skip` to the dead letters.
            annotations: Such as `@parallel`.

        Raises:
            UserError: The invocation is wrong; the message says what and where.

        Example:
            >>> app = App()
            >>> (x,) = app.invoke("Beacon", outputs=["int32 x"], params={"iterations": 3}, name="X")
            >>> x
            <Stream X: int32 x>
        """
        span = caller_span()
        definition = self._definition(kind, role)
        ports = tuple((port,) if isinstance(port, Stream) else tuple(port) for port in inputs)
        self._check_own(ports, span)
        schemas = tuple(port_schema(port, span) for port in ports)
        made_outputs = [o if isinstance(o, Output) else Output(schema=o) for o in outputs]
        given = [n for n in (name, *(o.name for o in made_outputs)) if n is not None]
        name = self._new_id(given[0] if given else None, definition.name)
        operator = self._checked(
            definition,
            span,
            id=name,
            inputs=input_ports(ports, schemas, windows, partitioned, span),
            outputs=output_ports(definition, name, made_outputs, schemas, span),
            params=made_params(definition, params or {}, schemas, made_outputs, span),
            annotations=annotations,
            on_error=ErrorPolicy(on_error),
        )
        self._operators.append(operator)
        made = tuple(Stream(app=self, id=p.stream, schema=p.schema, operator=name) for p in operator.outputs)
        self._streams.extend(made)
        return made

    def _invoke_first(self, definition: OperatorDefinition, output: Output) -> Stream:
        """Invoke a source that has its turn before all that there are."""
        (stream,) = self.invoke(definition, outputs=[output])
        self._operators.insert(0, self._operators.pop())
        self._first_streams.add(stream.id)
        return stream

    def _is_first(self, stream: str) -> bool:
        """Whether a stream is that of a source which has its turn before all others."""
        return stream in self._first_streams

    def feedback(self, schema: SchemaLike, *, name: str = "Feedback") -> Feedback:
        """A stream that is connected later, to close a loop.

        Example:
            >>> from penstock import col
            >>> app = App()
            >>> again = app.feedback("int32 x")
            >>> numbers = app.beacon("int32 x", iterations=1).union(again).with_columns(x=col.x + 1)
            >>> again.connect(numbers.filter(col.x < 4))
            >>> numbers.collect()
            [Row(x=1), Row(x=2), Row(x=3), Row(x=4)]
        """
        id_ = self._new_id(None, name)
        self._loops[id_] = None
        loop = Feedback(app=self, id=id_, schema=schema_of(schema), operator=id_)
        self._streams.append(loop)
        return loop

    # Placement, in the words of the COLA paper.

    def constrain(
        self, kind: str, *streams: Stream, hosts: Iterable[str] = (), replicas: Iterable[Iterable[Stream]] = ()
    ) -> None:
        """Demand something of where the operators that make these streams run, such as `host_exlocation`.

        Args:
            kind: What is demanded.
            streams: Those of the operators that it is about.
            hosts: For `resource_match`, names or tags of hosts that will do.
            replicas: For `high_availability`, the streams of each replica; no two of them share a host.

        Example:
            >>> app = App()
            >>> a, b = (app.beacon("int32 x", iterations=1) for _ in range(2))
            >>> app.constrain("host_exlocation", a, b)
            >>> app.program().application.constraints[0].operators
            ('Beacon', 'Beacon_2')
        """
        operators = tuple(dict.fromkeys(s.operator for s in streams))
        sets = tuple(tuple(dict.fromkeys(s.operator for s in replica)) for replica in replicas)
        wanted = ConstraintKind(kind)
        if wanted is ConstraintKind.HIGH_AVAILABILITY:
            is_right = len(sets) > 1 and all(sets) and not operators
        else:
            is_right = not sets
        if not is_right:
            takes = (
                "two replicas or more, and nothing else"
                if wanted is ConstraintKind.HIGH_AVAILABILITY
                else "no replicas"
            )
            hint = 'write app.constrain("high_availability", replicas=[[a1, b1], [a2, b2]])'
            raise UserError(Diagnostic(message=f"`{kind}` takes {takes}", span=caller_span(), hint=hint))
        self._constraints.append(Constraint(kind=wanted, operators=operators, hosts=tuple(hosts), replicas=sets))

    def constrain_group(self, kind: str, tag: str, stream: Stream) -> None:
        """Add an operator to the group of a colocation or exlocation tag.

        Example:
            >>> app = App()
            >>> for _ in range(2):
            ...     app.constrain_group("pe_colocation", "together", app.beacon("int32 x", iterations=1))
            >>> app.program().application.constraints[0].operators
            ('Beacon', 'Beacon_2')
        """
        self._groups.setdefault((ConstraintKind(kind), tag), []).append(stream.operator)

    def annotate(self, stream: Stream, annotation: Annotation) -> None:
        """Add an annotation to the operator that makes a stream.

        Example:
            >>> app = App()
            >>> app.annotate(app.beacon("int32 x", iterations=1), Annotation(name="spread"))
            >>> app.program().application.operators[0].annotations[0].name
            'spread'
        """
        for i, operator in enumerate(self._operators):
            if operator.id == stream.operator:
                self._operators[i] = replace(operator, annotations=(*operator.annotations, annotation))

    def connect(self, loop: Feedback, stream: Stream) -> None:
        """Close a feedback loop, as `Feedback.connect` does.

        Example:
            >>> app = App()
            >>> again = app.feedback("int32 x")
            >>> app.connect(again, app.beacon("int32 x", iterations=1).union(again))
        """
        if loop.schema != stream.schema:
            message = f"the feedback stream carries {loop.schema}, `{stream.id}` carries {stream.schema}"
            raise UserError(Diagnostic(message=message, span=caller_span()))
        self._loops[loop.id] = stream.id

    def rename(self, stream: Stream, name: str) -> None:
        """Name a stream, and the operator that makes it if this is its first output; as `Stream.named` does.

        Example:
            >>> app = App()
            >>> numbers = app.beacon("int32 x", iterations=1)
            >>> app.rename(numbers, "Numbers")
            >>> numbers.id, numbers.operator
            ('Numbers', 'Numbers')
        """
        if name == stream.id:
            return
        self._new_id(name, name)
        if any(name == known.id for known in self._streams):
            raise UserError(Diagnostic(message=f"there is a stream `{name}` already", span=caller_span()))
        made = next((o for o in self._operators if o.id == stream.operator), None)
        ids = renamed_ids(made, stream.id, name)
        self._operators = [rename_in(operator, ids) for operator in self._operators]
        new = ids.operators
        self._constraints = [replace(c, operators=tuple(new.get(o, o) for o in c.operators)) for c in self._constraints]
        self._groups = {tag: [new.get(o, o) for o in operators] for tag, operators in self._groups.items()}
        self._loops = {ids.stream(loop): end and ids.stream(end) for loop, end in self._loops.items()}
        for known in self._streams:
            known.id, known.operator = ids.stream(known.id), new.get(known.operator, known.operator)

    # Inside.

    def _check_own(self, ports: Iterable[Iterable[Stream]], span: Span | None) -> None:
        for stream in (stream for port in ports for stream in port):
            if stream.app is not self:
                message = f"`{stream.id}` is a stream of the application `{stream.app.name}`, not of `{self.name}`"
                raise UserError(Diagnostic(message=message, span=span, hint="use export and import_ between them"))

    def _definition(self, kind: Kind, role: str | None) -> OperatorDefinition:
        if isinstance(kind, str):
            found = standard().find(kind)
            if found is None:
                hint = did_you_mean(kind, standard().names())
                raise UserError(Diagnostic(message=f"there is no operator `{kind}`", span=caller_span(), hint=hint))
            return found
        if isinstance(kind, OperatorDefinition):
            self._definitions[kind.kind] = kind
            return kind
        if not callable(kind):
            message = f"an operator is a name, a function or a class, found {kind!r}"
            raise UserError(Diagnostic(message=message, span=caller_span()))
        if not isinstance(kind, Hashable):
            message = f"`{name_of(kind)}` is an object that can be called but has no hash"
            raise UserError(Diagnostic(message=message, span=caller_span(), hint="give a function that calls it"))
        if kind not in self._functions:
            definition = definition_of(kind, role=role, name=self._python_name(kind))
            self._functions[kind] = definition.kind
            self._definitions[definition.kind] = definition
        return self._definitions[self._functions[kind]]

    def _python_name(self, kind: Any) -> str:
        return self.new_kind(name_of(kind))

    def new_kind(self, name: str) -> str:
        """A name for a Python operator that is unique in this application; lambdas are numbered.

        Example:
            >>> App().new_kind("<lambda>"), App().new_kind("Filter")
            ('function', 'Filter_2')
        """
        bare = "function" if name == "<lambda>" else name
        taken = {*self._definitions, *standard().names()}
        return _numbered(bare, lambda name: name not in taken)

    def _new_id(self, wanted: str | None, kind: str) -> str:
        taken = {o.id for o in self._operators} | set(self._loops)
        if wanted is None:
            taken |= {stream.id for stream in self._streams}
            return _numbered(kind, lambda name: name not in taken)
        if not isinstance(wanted, str):
            message = f"the name of an operator is text, found {wanted!r}"
            hint = 'for an output attribute that is called `name`, write {"name": value}'
            raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
        if wanted in taken:
            raise UserError(Diagnostic(message=f"there is an operator `{wanted}` already", span=caller_span()))
        return wanted

    def _checked(self, definition: OperatorDefinition, span: Span | None, **parts: Any) -> Operator:
        found = Diagnostics()
        operator = invoke(definition, span=span, found=found, **parts)
        found.raise_if_any()
        assert operator is not None
        return operator

    def _close_loops(self, operator: Operator) -> Operator:
        if not any(stream in self._loops for port in operator.inputs for stream in port.streams):
            return operator
        return replace(operator, inputs=tuple(self._close_port(port) for port in operator.inputs))

    def _close_port(self, port: InputPort) -> InputPort:
        closed = {s: str(self._loops[s]) for s in port.streams if s in self._loops}
        streams = tuple(closed.get(s, s) for s in port.streams)
        return replace(port, streams=streams, feedback=port.feedback | frozenset(closed.values()))


class Feedback(Stream):
    """A stream that is used before it is made.

    Example:
        >>> App().feedback("int32 x")
        <Feedback Feedback: int32 x>
    """

    __slots__ = ()

    def connect(self, stream: Stream) -> None:
        """Close the loop: from now on this is that stream.

        Example:
            >>> app = App()
            >>> again = app.feedback("int32 x")
            >>> again.connect(app.beacon("int32 x", iterations=1).union(again))
        """
        self.app.connect(self, stream)


def _numbered(bare: str, is_free: Callable[[str], bool]) -> str:
    number, name = 1, bare
    while not is_free(name):
        number += 1
        name = f"{bare}_{number}"
    return name
