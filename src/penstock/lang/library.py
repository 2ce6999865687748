"""Everything that a program can name beyond its own file: other files, toolkits, operators.

A namespace is spread over files: those of the application (below its folder) and those of the toolkits. Files are read
when a name is looked for that they seem to define, so a large toolkit costs nothing until it is used, and a file
with a mistake disturbs nobody who does not need it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.base.diagnostics import Diagnostics, SourceFile, UserError
from penstock.lang.mixed_mode import SUFFIX, expand_mixed_mode
from penstock.lang.syntax import ast
from penstock.lang.syntax.parser import parse_file
from penstock.lang.toolkit_folders import (
    find_native_function,
    find_native_operator,
    has_native_namespace,
    is_in_place,
    namespace_folders,
    spl_files,
    toolkit_files,
)
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.operator_registry import Registry, is_standard

if TYPE_CHECKING:
    from penstock.api.toolkits import PythonToolkit

D = TypeVar("D", ast.Composite, ast.FunctionSyntax, ast.TypeDefinition)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that happens to lie where files are looked for.

    Attributes:
        path: Where.
        source: Its SPL; if there is a problem, what the file holds, and nothing if it cannot be read.
        problem: Why the SPL could not be made of what the file holds.
    """

    path: Path
    source: SourceFile
    problem: UserError | None = None

    @property
    def namespace(self) -> str:
        """The namespace that it declares, told without parsing it; empty for none."""
        return _namespace_of(self.source.text)


_DEFINES: dict[type, str] = {
    ast.Composite: r"\bcomposite\s+{name}\b",
    ast.TypeDefinition: r"\btype\s+{name}\s*=",
    ast.FunctionSyntax: r"[\w>\]]\s+{name}\s*\([^()]*\)\s*\{{",
}
"""The patterns by which a text, without parsing, shows that it may define a name."""

_BEFORE_NAMESPACE = re.compile(r"\s+|//[^\n]*|/\*[\s\S]*?\*/")
_NAMESPACE = re.compile(r"namespace\s+([\w.\s]+);")


@dataclass(frozen=True, kw_only=True, eq=False)
class Module:
    """A parsed file."""

    file: ast.File

    @property
    def namespace(self) -> str:
        """The file's namespace; empty for none."""
        return self.file.namespace

    @cached_property
    def visible(self) -> tuple[str, ...]:
        """The namespaces whose names can be written bare: its own, then those it uses as a whole."""
        return (self.namespace, *(use.namespace for use in self.file.uses if use.name is None))

    @cached_property
    def imported(self) -> Mapping[str, str]:
        """From single name to the namespace that a `use` takes it from."""
        return {use.name.text: use.namespace for use in self.file.uses if use.name is not None}

    def definitions(self, kind: type[D], name: str) -> Iterator[D]:
        """The definitions of a kind and a name in this file."""
        for definition in self.file.definitions:
            if isinstance(definition, kind) and definition.name.text == name:
                yield definition

    def namespaces_of(self, name: str) -> tuple[tuple[str, ...], str]:
        """Where a name as written is looked for, and the name without its namespace."""
        namespace, separator, bare = name.rpartition("::")
        if separator:
            return (namespace,), bare
        if name in self.imported:
            return (self.imported[name], *self.visible), name
        return self.visible, name


@dataclass(kw_only=True)
class Library:
    """The files and operators of a compilation.

    Attributes:
        registry: The operators, those of Python toolkits as soon as a name is looked for that they define.
        application: The folder of the application's own files. A namespace `a.b` lies in its folder `a.b` or `a/b`, so
            that whatever else happens to lie below it is left alone.
        toolkits: Folders that hold SPL files of any namespace.
        arguments: The compile-time arguments, for Perl in SPL.
        python: The Python files of the toolkits.
        found: Receives the mistakes of the files that are read on the way.
    """

    registry: Registry
    application: Path | None = None
    toolkits: tuple[Path, ...] = ()
    python: tuple[PythonToolkit, ...] = ()
    arguments: tuple[str, ...] = ()
    found: Diagnostics = field(default_factory=Diagnostics)
    _modules: dict[Path | None, list[Module]] = field(default_factory=dict)
    _looked_up: dict[tuple[type, str, int], list[Any]] = field(default_factory=dict)
    _own_files: dict[str, list[TextFile]] = field(default_factory=dict)

    def add(self, source: SourceFile, path: Path | None = None) -> Module | None:
        """Parse a file and make it known; none after reporting its mistakes."""
        file = parse_file(source, self.found)
        if file is None:
            self._modules.setdefault(path, [])
            return None
        module = Module(file=file)
        self._modules.setdefault(path, []).append(module)
        return module

    def lookup(self, kind: type[D], name: str, module: Module) -> list[tuple[D, Module]]:
        """The definitions of a kind that a name as written means in a file; several for overloaded functions."""
        key = (kind, name, id(module))
        if key not in self._looked_up:
            self._looked_up[key] = self._look_up(kind, name, module)
        return self._looked_up[key]

    def _look_up(self, kind: type[D], name: str, module: Module) -> list[tuple[D, Module]]:
        namespaces, bare = module.namespaces_of(name)
        own = [(d, module) for d in module.definitions(kind, bare)] if module.namespace in namespaces else []
        if own:
            return own
        for namespace in namespaces:
            found = [(d, m) for m in self._defining(kind, namespace, bare) for d in m.definitions(kind, bare)]
            if found:
                return found
        return []

    def _defining(self, kind: type, namespace: str, name: str) -> list[Module]:
        """The modules of a namespace that may define a name, read if they were not yet."""
        pattern = re.compile(_DEFINES[kind].format(name=name))
        for file in self._files(namespace):
            if file.path not in self._modules and pattern.search(file.source.text):
                self._add_file(file)
        return [m for modules in self._modules.values() for m in modules if m.namespace == namespace]

    def _add_file(self, file: TextFile) -> None:
        if file.problem is None:
            self.add(file.source, file.path)
        else:
            self._modules[file.path] = []
            self.found.extend(file.problem)

    def _files(self, namespace: str) -> list[TextFile]:
        if namespace not in self._own_files:
            paths = [] if self.application is None else _paths_of(self.application, namespace)
            files = (self._text_file(path) for path in paths)
            self._own_files[namespace] = [f for f in files if f.namespace == namespace]
        return [*self._own_files[namespace], *self._toolkit_files.get(namespace, ())]

    @cached_property
    def _toolkit_files(self) -> Mapping[str, list[TextFile]]:
        found: dict[str, list[TextFile]] = {}
        for root in self.toolkits:
            for path in toolkit_files(root):
                file = self._text_file(path)
                if is_in_place(path, root, file.namespace):
                    found.setdefault(file.namespace, []).append(file)
        return found

    def _text_file(self, path: Path) -> TextFile:
        """A file that happens to lie there; one that cannot be read defines nothing."""
        resolved = path.resolve()
        try:
            source = read_text(resolved)
        except UserError:
            return TextFile(resolved, SourceFile(path=str(resolved), text=""))
        try:
            return TextFile(resolved, expand_source(source, resolved, self.arguments))
        except UserError as problem:
            return TextFile(resolved, source, problem)

    def has_namespace(self, namespace: str) -> bool:
        """Whether a `use` can name a namespace: some file or operator is in it."""
        modules = (m for modules in self._modules.values() for m in modules)
        return (
            any(m.namespace == namespace for m in modules)
            or bool(self._files(namespace))
            or any(d.namespace == namespace for d in self.registry.definitions())
            or any(toolkit.has_namespace(namespace) for toolkit in self.python)
            or has_native_namespace(self.roots, namespace)
        )

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folder of the application, then those of the toolkits."""
        return self.toolkits if self.application is None else (self.application, *self.toolkits)

    def describe_native_operator(self, name: str, module: Module) -> str | None:
        """A hint for an operator that is not written in SPL; None if there is none of that name."""
        namespaces, bare = module.namespaces_of(name)
        found = find_native_operator(self.roots, namespaces, bare)
        if found is None:
            return None
        where = f" of the namespace `{found.namespace}`" if found.namespace else ""
        return (
            f"`{found.path.name}` says that it is a primitive operator in {found.language}, which does not run here; "
            f"write a class or function `{bare}`{where} in Python, and give its folder with --toolkit"
        )

    def describe_native_function(self, name: str) -> str | None:
        """A hint for a function that is not written in SPL; None if there is none of that name."""
        namespace, _, bare = name.rpartition("::")
        found = find_native_function(self.roots, bare, namespace or None)
        if found is None:
            return None
        return (
            f"`{found.path.name}` of the namespace `{found.namespace}` says that it is a native function in "
            f"{found.language}, which does not run here; write it in SPL, or its caller as an operator in Python"
        )

    def operator(self, name: str, module: Module) -> OperatorDefinition | None:
        """The operator that a name as written means in a file, imported if it is of a Python toolkit."""
        namespaces, bare = module.namespaces_of(name)
        for namespace in namespaces if "::" in name else (*namespaces, ""):
            self._take_in(bare, namespace)
            found = self.registry.find(f"{namespace}::{bare}" if namespace else bare)
            if found is not None:
                return found
        return None

    def _take_in(self, name: str, namespace: str) -> None:
        """Let the registry know the operators of Python toolkits that have a name."""
        definitions = [d for toolkit in self.python for d in toolkit.find(name, namespace)]
        fresh = [d for d in definitions if all(d is not known for known in self.registry.definitions())]
        if fresh:
            self.registry = self.registry.extended(fresh)

    def namespaces_of(self, name: str) -> list[str]:
        """The namespaces in which an operator or a composite of a name is, wherever it is."""
        composite = re.compile(_DEFINES[ast.Composite].format(name=re.escape(name)))
        found = {namespace for toolkit in self.python for namespace in toolkit.namespaces_of(name)}
        found |= {d.namespace for d in self.registry.definitions() if d.name == name and d.namespace}
        found |= {
            n for n, files in self._toolkit_files.items() if n and any(composite.search(f.source.text) for f in files)
        }
        return sorted(found)

    def operator_names(self, module: Module) -> set[str]:
        """The names of all operators, and of the composites that can be invoked by their bare name."""
        known = {d.name for d in self.registry.definitions()}
        return known.union(self.composite_names(module), *(toolkit.names() for toolkit in self.python))

    def composite_names(self, module: Module) -> Iterator[str]:
        """The composites that can be invoked by their bare name, as far as they have been read."""
        for modules in self._modules.values():
            for other in modules:
                if other.namespace in module.visible:
                    yield from (d.name.text for d in other.file.definitions if isinstance(d, ast.Composite))


def _paths_of(folder: Path, namespace: str) -> list[Path]:
    """The files in the folders that a namespace asks for; for none, those in the folder itself."""
    folders = namespace_folders(folder, namespace)
    return sorted({path.resolve() for place in folders for path in spl_files(place.glob("*"))})


def _namespace_of(text: str) -> str:
    """The namespace that a file declares, told without parsing it; empty for none."""
    start = 0
    while match := _BEFORE_NAMESPACE.match(text, start):
        start = match.end()
    match = _NAMESPACE.match(text, start)
    return "".join(match[1].split()) if match else ""


def read_source(path: Path, arguments: tuple[str, ...] = ()) -> SourceFile:
    """The SPL of a file; that of mixed mode is what its Perl prints.

    Raises:
        UserError: The file cannot be read as UTF-8 text, or its Perl fails.
    """
    return expand_source(read_text(path), path, arguments)


def read_text(path: Path) -> SourceFile:
    """The text of a file.

    Raises:
        UserError: The file cannot be read as UTF-8 text.
    """
    try:
        return SourceFile(path=str(path), text=path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"cannot read `{path}`: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"`{path}` is not UTF-8 text: {error.reason} at byte {error.start}") from error


def expand_source(source: SourceFile, path: Path, arguments: tuple[str, ...]) -> SourceFile:
    """The SPL of a text: its own, or in mixed mode what its Perl prints, run in the folder of the application.

    Raises:
        UserError: Its Perl fails.
    """
    if path.suffix != SUFFIX:
        return source
    declared = re.search(r"^\s*namespace\s+([\w.]+)\s*;", source.text, re.MULTILINE)
    return expand_mixed_mode(source, arguments, application_folder(path.resolve(), declared[1] if declared else ""))


def check_uses(module: Module, library: Library, found: Diagnostics) -> None:
    """Report every `use` of a namespace that does not exist."""
    for use in module.file.uses:
        if not _is_standard(use.namespace) and not library.has_namespace(use.namespace):
            hint = "add the folder that holds it with --toolkit"
            found.error(f"there is no namespace `{use.namespace}`", use.span, hint=hint)


def _is_standard(namespace: str) -> bool:
    return is_standard(namespace) or namespace.startswith("com.ibm.streams.")


def application_folder(path: Path, namespace: str) -> Path:
    """The folder above the folders that a namespace asks for: `app/a.b/Main.spl` and `app/a/b/Main.spl` lie in `app`.

    Example:
        >>> application_folder(Path("app/a.b/Main.spl"), "a.b").as_posix()
        'app'
    """
    folder = path.parent
    for parts in ([namespace], namespace.split(".")):
        if namespace and _ends_with(folder, parts):
            return folder.parents[len(parts) - 1]
    return folder


def _ends_with(folder: Path, parts: Iterable[str]) -> bool:
    wanted = tuple(parts)
    return folder.parts[-len(wanted) :] == wanted
