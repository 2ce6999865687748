"""The Python operators of a toolkit folder.

A file is imported, with the folder on the module path, when a program uses an operator that it seems to define
(`toolkit_files`). An operator's namespace is the one it declares, or else the package that its module lies in:
operators in `finance/prices.py` are found by `use finance::*`, those in a file at the top of the folder need no `use`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType

from penstock.api.operators import definition_of, operators_in
from penstock.api.toolkit_files import ToolkitFile, python_files
from penstock.base.diagnostics import UserError
from penstock.toolkit.core.definition import OperatorDefinition


class PythonToolkit:
    """The Python files of a toolkit folder.

    Raises:
        UserError: The folder does not exist.
    """

    def __init__(self, directory: str | Path) -> None:
        self._folder = Path(directory).resolve()
        self._imported: dict[Path, tuple[OperatorDefinition, ...]] = {}
        if not self._folder.is_dir():
            raise UserError(f"there is no toolkit folder `{directory}`")

    @cached_property
    def _files(self) -> tuple[ToolkitFile, ...]:
        return python_files(self._folder)

    def find(self, name: str, namespace: str) -> tuple[OperatorDefinition, ...]:
        """The operators of a name and a namespace; several if several files define it.

        Raises:
            UserError: A file that seems to define it cannot be imported.
        """
        files = (file for file in self._files if file.may_define(name, namespace))
        return tuple(d for f in files for d in self._definitions(f) if (d.name, d.namespace) == (name, namespace))

    def has_namespace(self, namespace: str) -> bool:
        """Whether some operator may be in a namespace, as far as reading the files tells."""
        return any(c.namespace in (None, namespace) for file in self._files for c in file.candidates)

    def namespaces_of(self, name: str) -> Iterator[str]:
        """The namespaces in which an operator of a name may be, as far as reading the files tells."""
        for file in self._files:
            if file.mentions(name):
                yield from (c.namespace for c in file.candidates if c.name == name and c.namespace)

    def names(self) -> Iterator[str]:
        """The names of what may be operators."""
        yield from (c.name for file in self._files for c in file.candidates)

    def _definitions(self, file: ToolkitFile) -> tuple[OperatorDefinition, ...]:
        if file.path not in self._imported:
            module = _import(self._folder, file.path)
            found = [definition_of(value) for value in operators_in(vars(module))]
            self._imported[file.path] = tuple(d if d.namespace else replace(d, namespace=file.package) for d in found)
        return self._imported[file.path]


def _import(folder: Path, path: Path) -> ModuleType:
    parts = path.relative_to(folder).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        message = f"the toolkit file `{path.name}` cannot be imported: {error or type(error).__name__}"
        raise UserError(message) from error
    loaded = Path(module.__file__ or "").resolve()
    if loaded != path.resolve():
        raise UserError(f"the toolkit file `{path.name}` has the name of the module `{name}`", hint="rename the file")
    return module
