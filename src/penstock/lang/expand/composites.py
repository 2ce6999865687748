"""Instances of composites, and their expansion into one graph.

Introduction:
    A composite is a graph with ports and parameters. Each invocation makes an instance: a copy of the graph under the
    invocation's name, with its ports connected and its parameters given. Only primitive operators are left in the end.

Example:
    `stream<Bid> Bids = Parse(Lines) {}` of a composite Parse with an operator `Split` inside gives an operator with the
    id `Bids.Split`; the stream that Parse calls its output is what `Bids` means from then on.

Algorithm:
    Two passes over each instance. `Instance` declares: names get their producers, sub-composites their own instances;
    schemas and ids are found when they are asked for, so streams may be used before they are declared. `expand` then
    makes the operators in order of declaration.

Preserves:
    Names in an actual parameter mean what they mean where it was written (hygiene).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.ir.types import TupleType, Type
from penstock.lang.check.mistakes import error, silent
from penstock.lang.check.scope import Binding, Compilation, Scope, StreamRef
from penstock.lang.check.type_syntax import NO_TYPES, resolve_type
from penstock.lang.library import Module
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code
from penstock.toolkit.core.definition import OperatorDefinition

IGNORED = frozenset({"JobControlPlane", "spl.control::JobControlPlane"})
"""Operators without ports that steer consistent regions, which every job of ours has."""

MOST_NESTED = 100
"""How deep composites may be nested; deeper ones invoke themselves for practical purposes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeTarget:
    """An operator name that means a composite."""

    composite: ast.Composite
    module: Module


Target = CompositeTarget | OperatorDefinition


@dataclass(kw_only=True, eq=False)
class Node:
    """An invocation of an instance, with what its operator's name means; nothing if that is wrong."""

    invocation: ast.Invocation
    target: Target | None
    child: Instance | None = None


class Instance(Scope):
    """One instance of a composite: a scope with streams and parameters.

    Attributes:
        composite: What it is an instance of.
        path: The prefix of the ids inside it, empty for the main composite.
        nodes: Its invocations.
        is_probe: Whether it stands for nothing and is there to be checked: what is not given is unknown, not missing.
        chain: The instances around it, from the main composite to itself.
    """

    def __init__(
        self,
        compilation: Compilation,
        target: CompositeTarget,
        *,
        path: str = "",
        parent: Instance | None = None,
        invocation: ast.Invocation | None = None,
        is_probe: bool = False,
    ) -> None:
        super().__init__(compilation=compilation, module=target.module)
        self.composite = target.composite
        compilation.instantiated.add(id(self.composite))
        self.path = path
        self.is_probe = is_probe
        self.invocation = invocation
        self.parent = parent
        self.chain: tuple[Instance, ...] = (*(parent.chain if parent else ()), self)
        self._bindings = self._bind(invocation)
        self._known: dict[str, StreamRef] = {}
        self._open: list[str] = []
        self._producers: dict[str, tuple[Node, int]] = {}
        self._check_types()
        self.nodes = [self._declare(i) for i in self.composite.invocations if i.operator.text not in IGNORED]

    @property
    def composite_names(self) -> tuple[str, str]:
        """The name of this instance, and that of the main composite."""
        main = self.chain[0]
        namespace = main.module.namespace
        name = main.composite.name.text
        return self.path.rstrip(".") or name, f"{namespace}::{name}" if namespace else name

    # ---- parameters

    def _bind(self, invocation: ast.Invocation | None) -> dict[str, Binding | None]:
        """The binding of each parameter; None for one that is missing, which is reported."""
        given = {s.name.text: s for s in invocation.params} if invocation else {}
        bindings: dict[str, Binding | None] = {}
        for formal in self.composite.formals:
            name = formal.name.text.removeprefix("$")
            setting = given.pop(name, None)
            bindings[formal.name.text] = self._binding_of(formal, setting, invocation)
        for name, setting in given.items():
            known = [f.name.text.removeprefix("$") for f in self.composite.formals]
            message = f"the composite `{self.composite.name}` has no parameter `{name}`"
            self.compilation.found.error(message, setting.name.span, hint=did_you_mean(name, known))
        return bindings

    def _binding_of(
        self, formal: ast.Formal, setting: ast.Setting | None, invocation: ast.Invocation | None
    ) -> Binding | None:
        if setting is not None:
            assert self.parent is not None
            actuals = tuple(v for v in setting.values if not isinstance(v, ast.NamedArgument))
            return self.parent.forwarded(formal, actuals)
        if formal.default is not None:
            return Binding(formal=formal, actuals=formal.default, scope=self)
        if self.is_probe:
            return None
        name = formal.name.text.removeprefix("$")
        span = invocation.operator.span if invocation else formal.span
        hint = (
            f"write `{name}: ...;` in its param clause" if invocation else "a main composite's parameters need defaults"
        )
        self.compilation.found.error(f"`{self.composite.name}` needs the parameter `{name}`", span, hint=hint)
        return None

    def forwarded(self, formal: ast.Formal, actuals: tuple[ast.Actual, ...]) -> Binding:
        """The binding of actuals written in this scope; a parameter passed on as a whole stands for all its values."""
        if len(actuals) == 1 and isinstance(actuals[0], code.NameSyntax) and actuals[0].name.text.startswith("$"):
            own = self._bindings.get(actuals[0].name.text)
            if own is not None and len(own.actuals) > 1:
                return Binding(formal=formal, actuals=own.actuals, scope=own.scope)
        return Binding(formal=formal, actuals=actuals, scope=self)

    def binding(self, word: code.Word) -> Binding:
        """The binding of the parameter `$name`.

        Raises:
            UserError: There is no such parameter, or it was not given (then silent).
        """
        if word.text not in self._bindings:
            hint = did_you_mean(word.text, self._bindings)
            raise error(f"`{self.composite.name}` has no parameter `{word}`", word.span, hint)
        found = self._bindings[word.text]
        if found is None:
            raise silent()
        return found

    # ---- types

    def _check_types(self) -> None:
        seen: set[str] = set()
        for definition in self.composite.types:
            if definition.name.text in seen:
                message = f"the type `{definition.name}` is defined twice"
                self.compilation.found.error(message, definition.name.span)
            seen.add(definition.name.text)

    def check_types(self) -> None:
        """Resolve every type of the composite, used or not, so that its mistakes are reported."""
        for definition in self.composite.types:
            try:
                self.defined_type(definition)
            except UserError:
                continue

    def local_type(self, name: str) -> Type | None:
        """The type that the composite defines under a name."""
        for definition in self.composite.types:
            if definition.name.text == name:
                return self.defined_type(definition)
        return None

    def type_names(self) -> Iterator[str]:
        """The types in sight."""
        yield from super().type_names()
        yield from (d.name.text for d in self.composite.types)

    # ---- streams

    def _declare(self, invocation: ast.Invocation) -> Node:
        """Make the outputs of an invocation known, and the instance if it invokes a composite."""
        target = self._target(invocation.operator)
        node = Node(invocation=invocation, target=target)
        for port, stream in enumerate(invocation.outputs):
            if stream.name.text in self._producers or self._input_index(stream.name.text) is not None:
                self.compilation.found.error(f"two streams are named `{stream.name}`", stream.name.span)
            self._producers.setdefault(stream.name.text, (node, port))
        if isinstance(target, CompositeTarget):
            node.child = self._instance(target, invocation)
        return node

    def _instance(self, target: CompositeTarget, invocation: ast.Invocation) -> Instance | None:
        nested = any(instance.composite is target.composite for instance in self.chain)
        if nested or len(self.chain) > MOST_NESTED:
            message = f"the composite `{target.composite.name}` invokes itself"
            self.compilation.found.error(message, invocation.operator.span)
            return None
        path = f"{self.path}{invocation.name}."
        return Instance(self.compilation, target, path=path, parent=self, invocation=invocation)

    def stream(self, name: str) -> StreamRef | None:
        """The stream of a name: an output of an invocation here, or an input of the composite."""
        if name not in self._known:
            found = self._input(name) or self._output(name)
            if found is None:
                return None
            self._known[name] = found
        return self._known[name]

    def is_declaring(self, name: str) -> bool:
        """Whether the stream of a name is the one whose type is being resolved, and there is a type of that name."""
        return self._open[-1:] == [name] and any(self.library.lookup(ast.TypeDefinition, name, self.module))

    def stream_names(self) -> Iterator[str]:
        """The streams in sight."""
        yield from self._producers
        yield from (s.name.text for s in self.composite.inputs)

    def _input_index(self, name: str) -> int | None:
        return next((i for i, s in enumerate(self.composite.inputs) if s.name.text == name), None)

    def _input(self, name: str) -> StreamRef | None:
        index = self._input_index(name)
        if index is None:
            return None
        declared = self.composite.inputs[index].type
        if self.parent is None or self.invocation is None or index >= len(self.invocation.inputs):
            return StreamRef(ids=(), schema=None if declared is None else self.stream_type(declared))
        refs = [self.parent.stream(s.name.text) for s in self.invocation.inputs[index].streams]
        known = [ref for ref in refs if ref is not None]
        schema = known[0].schema if len(known) == len(refs) else None
        if schema is not None and declared is not None:
            schema = self.stream_type(declared)
        return StreamRef(ids=tuple(id_ for ref in known for id_ in ref.ids), schema=schema)

    def _output(self, name: str) -> StreamRef | None:
        if name not in self._producers:
            return None
        node, port = self._producers[name]
        ids = self._ids(node, port, name)
        if name in self._open:
            span = node.invocation.outputs[port].name.span
            self.compilation.found.error(f"the type of the stream `{name}` is defined by itself", span)
            return StreamRef(ids=ids, schema=None)
        self._open.append(name)
        schema = self.output_schema(node, port)
        self._open.pop()
        return StreamRef(ids=ids, schema=schema)

    def _ids(self, node: Node, port: int, name: str) -> tuple[str, ...]:
        if node.child is None:
            return (f"{self.path}{name}",)
        outputs = node.child.composite.outputs
        inner = node.child.stream(outputs[port].name.text) if port < len(outputs) else None
        return inner.ids if inner is not None else ()

    def output_schema(self, node: Node, port: int) -> TupleType | None:
        """The schema that an invocation declares for an output; none after reporting what is wrong with it."""
        syntax = node.invocation.outputs[port].type
        assert syntax is not None
        return self.stream_type(syntax, PortTypes(self, node.invocation))

    def stream_type(self, syntax: code.TypeSyntax, extra: Mapping[str, Type] = NO_TYPES) -> TupleType | None:
        """The schema of a stream as it is declared; none after reporting what is wrong with it."""
        try:
            type_ = resolve_type(syntax, self, extra)
            if not isinstance(type_, TupleType):
                raise error(f"a stream carries tuples, found {type_}", syntax.span)
            return type_
        except UserError as problem:
            self.compilation.found.extend(problem)
            return None

    # ---- operators

    def _target(self, word: code.Word) -> Target | None:
        """The target of an operator's name; None after reporting that there is none."""
        try:
            return self.find_operator(word)
        except UserError as problem:
            self.compilation.found.extend(problem)
            return None

    def find_operator(self, word: code.Word) -> Target:
        """The target of an operator's name: a parameter of mode operator, a composite, or an operator of a toolkit.

        Raises:
            UserError: There is no such operator, or it is not public.
        """
        if word.text.startswith("$"):
            return self._bound_operator(word)
        for composite, module in self.library.lookup(ast.Composite, word.text, self.module):
            if module.namespace != self.module.namespace and not composite.public:
                raise error(f"the composite `{word}` is not public", word.span, "declare it with the word `public`")
            return CompositeTarget(composite=composite, module=module)
        definition = self.library.operator(word.text, self.module)
        if definition is not None:
            return definition
        raise error(f"there is no operator `{word}`", word.span, self._where_operator_is(word.text))

    def _where_operator_is(self, name: str) -> str | None:
        """A hint for an operator of another language or namespace, or for one that is spelled otherwise."""
        native = self.library.describe_native_operator(name, self.module)
        if native is not None:
            return native
        bare = name.rpartition("::")[2]
        elsewhere = self.library.namespaces_of(bare)
        if not elsewhere:
            return did_you_mean(name, self.library.operator_names(self.module))
        if bare != name:
            return f"did you mean {' or '.join(f'`{n}::{bare}`' for n in elsewhere)}?"
        return f"write {' or '.join(f'`use {n}::{bare};`' for n in elsewhere)} at the top of the file"

    def _bound_operator(self, word: code.Word) -> Target:
        binding = self.binding(word)
        actual = binding.actuals[0]
        if binding.formal.mode != "operator" or not isinstance(actual, code.NameSyntax):
            raise error(f"`{word}` is not an operator", word.span)
        assert isinstance(binding.scope, Instance)
        return binding.scope.find_operator(actual.name)


def find_stream(instance: Instance, word: code.Word, found: Diagnostics) -> StreamRef | None:
    """The stream of a name; none after reporting that there is none."""
    stream = instance.stream(word.text)
    if stream is None:
        known = sorted(instance.stream_names())
        hint = did_you_mean(word.text, known) or (
            f"there are {', '.join(f'`{n}`' for n in known[:8])}" if known else None
        )
        found.error(f"there is no stream `{word}`", word.span, hint=hint)
    return stream


class PortTypes(Mapping[str, Type]):
    """The aliases of an invocation's input ports, which name types too.

    A stream's type is asked for where its alias is used, not before: on a loop it may depend on the invocation itself.
    """

    def __init__(self, instance: Instance, invocation: ast.Invocation) -> None:
        self._instance = instance
        self._stream = {port.alias.text: port.streams[0].name.text for port in invocation.inputs if port.alias}

    def __getitem__(self, alias: str) -> Type:
        stream = self._instance.stream(self._stream[alias])
        if stream is None or stream.schema is None:
            raise KeyError(alias)
        return stream.schema

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)

    def __len__(self) -> int:
        return len(self._stream)
