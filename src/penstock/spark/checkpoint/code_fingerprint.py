"""Tells whether the Python code of an operator has changed since a checkpoint was written.

The fingerprint of an operator covers what a user wrote and the operator runs: the instructions and constants of its
function or of the methods of its class, what closures hold, default values, and the functions, classes and plain values
that it names, in turn, as far as they are the user's own. Comments, docstrings, annotations and the place in the file
are left out, and so is the code of installed packages, of which only names count.

When it does not apply:
    Instructions differ between versions of Python, so fingerprints of two versions cannot be compared.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.program import Program

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_INSTALLED = tuple(str(Path(path).resolve()) for path in (sys.prefix, sys.base_prefix))
_NOT_CODE = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __annotations__ __qualname__ __firstlineno__ __static_attributes__ "
    "__abstractmethods__ _abc_impl __penstock__ __wrapped__ __slots__ __match_args__ __dataclass_fields__ "
    "__slotnames__ __dataclass_params__ __orig_bases__ __parameters__".split()
)


_LOOKS_UP = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"})


def fingerprint_code(program: Program) -> dict[str, str]:
    """The fingerprints of a program's operators that are written in Python, by operator."""
    found = {}
    for operator in program.application.operators:
        written = list(_written_by_user(program.registry.get(operator.kind)))
        if written:
            found[operator.id] = _Walk().digest(tuple(written))
    return found


def _written_by_user(definition: OperatorDefinition) -> Iterator[Any]:
    """The functions and classes that a definition of ours wraps."""
    waiting, seen = [definition.runtime], set()
    while waiting:
        value: Any = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        module = getattr(value, "__module__", None) or ""
        if isinstance(value, OperatorDefinition):
            waiting.append(value.runtime)
        elif isinstance(value, FunctionType | type | MethodType) and module.partition(".")[0] != "penstock":
            yield value
        elif isinstance(value, FunctionType):
            waiting += [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
        elif module.partition(".")[0] == "penstock":
            # What checks models as a program runs stands around the definition, or around what makes the instances.
            waiting += [getattr(value, name) for name in ("definition", "original") if hasattr(value, name)]


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


class _Walk:
    """One pass over the code that an operator reaches."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []

    def digest(self, value: Any) -> str:
        """The fingerprint of a value."""
        return hashlib.sha256(repr(self._form(value)).encode()).hexdigest()

    def _form(self, value: Any, names: frozenset[str] = frozenset()) -> Any:
        """A value as nested tuples of text; what was seen before is told by its number."""
        match value:
            case None | bool() | int() | str() | bytes():
                return type(value).__name__, repr(value)
            case float() | complex():
                return type(value).__name__, repr(value)
        if id(value) in self._seen:
            return "again", self._seen[id(value)]
        self._seen[id(value)] = len(self._seen)
        # What is kept alive keeps its id to itself.
        self._kept.append(value)
        return self._form_of_object(value, names)

    def _form_of_object(self, value: Any, names: frozenset[str]) -> Any:
        match value:
            case tuple() | list():
                return type(value).__name__, tuple(self._form(v) for v in value)
            case set() | frozenset():
                return type(value).__name__, tuple(sorted(repr(_Walk()._form(v)) for v in value))
            case dict():
                return "dict", tuple(sorted((repr(_Walk()._form(k)), repr(self._form(v))) for k, v in value.items()))
            case CodeType():
                return self._form_of_code(value, None)
            case FunctionType():
                return self._form_of_function(value)
            case MethodType():
                return "method", self._form(value.__func__)
            case staticmethod() | classmethod():
                return type(value).__name__, self._form(value.__func__)
            case property():
                return "property", tuple(self._form(f) for f in (value.fget, value.fset, value.fdel))
            case ModuleType():
                return self._form_of_module(value, names)
            case type():
                return self._form_of_class(value)
        return "instance", _name_of(type(value)), self._form(type(value)) if _is_users(type(value)) else ""

    def _form_of_function(self, function: FunctionType) -> Any:
        if not _is_users(function):
            return "function", _name_of(function)
        code = function.__code__
        names = _names_in(code)
        found = sorted(name for name in _globals_in(code) if name in function.__globals__)
        globals_ = {name: self._form(function.__globals__[name], names) for name in found}
        closure = tuple(self._form(c.cell_contents) for c in function.__closure__ or () if _is_full(c))
        defaults = self._form(function.__defaults__), self._form(function.__kwdefaults__)
        return "function", self._form_of_code(code, function.__doc__), tuple(globals_.items()), closure, defaults

    def _form_of_code(self, code: CodeType, doc: str | None) -> Any:
        constants = code.co_consts[1:] if doc is not None and code.co_consts[:1] == (doc,) else code.co_consts
        inner = tuple(self._form(constant) for constant in constants)
        return code.co_code.hex(), inner, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount

    def _form_of_module(self, module: ModuleType, names: frozenset[str]) -> Any:
        """A module by its name, and of one of the user's what the code may mean by `module.name`."""
        if not _is_users(module):
            return "module", module.__name__
        used = {n: self._form(vars(module)[n], names) for n in sorted(names) if n in vars(module)}
        return "module", module.__name__, tuple(used.items())

    def _form_of_class(self, class_: type) -> Any:
        if not _is_users(class_):
            return "class", _name_of(class_)
        members: Mapping[str, Any] = vars(class_)
        kept = {n: self._form(v) for n, v in sorted(members.items()) if n not in _NOT_CODE}
        return "class", tuple(self._form(base) for base in class_.__bases__), tuple(kept.items())


def _names_in(code: CodeType) -> frozenset[str]:
    """The names that code uses, in the functions inside it, too."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(code.co_names).union(*map(_names_in, inner))


def _globals_in(code: CodeType) -> frozenset[str]:
    """The names that code looks up outside of its functions.

    An attribute may have the name of something global, which it does not mean; and a function that was pickled by value
    has only what it means.
    """
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    own = frozenset(step.argval for step in dis.get_instructions(code) if step.opname in _LOOKS_UP)
    return own.union(*map(_globals_in, inner))


def _name_of(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"


def _is_users(value: Any) -> bool:
    """Whether code is neither ours nor installed."""
    module = value if isinstance(value, ModuleType) else sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(module, "__name__", None) or getattr(value, "__module__", None) or ""
    if name.partition(".")[0] == "penstock" or name in sys.builtin_module_names or name in sys.stdlib_module_names:
        return False
    path = getattr(module, "__file__", None)
    return path is None or not str(Path(path).resolve()).startswith(_INSTALLED)
