"""Loads the Python operators of a toolkit folder.

Every Python file below the folder is imported with the folder on the module path. An operator's namespace is the one it
declares, or else the package that its module lies in: operators in `finance/prices.py` are found by `use finance::*`,
those in a file at the top of the folder need no `use`.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from penstock.api.operators import definition_of, operators_in
from penstock.diagnostics import UserError
from penstock.toolkit.definition import OperatorDefinition


def load(directory: str | Path) -> tuple[OperatorDefinition, ...]:
    """The definitions of all operators in a folder's Python files; none if there are no such files.

    Raises:
        UserError: The folder does not exist, or a file cannot be imported.
    """
    folder = Path(directory).resolve()
    if not folder.is_dir():
        raise UserError(f"there is no toolkit folder `{directory}`")
    found = []
    for path in sorted(folder.rglob("*.py")):
        module = _import(folder, path)
        package = ".".join(path.parent.relative_to(folder).parts)
        for value in operators_in(vars(module)):
            definition = definition_of(value)
            found.append(definition if definition.namespace else replace(definition, namespace=package))
    return tuple(found)


def _import(folder: Path, path: Path) -> ModuleType:
    parts = path.relative_to(folder).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise UserError(f"the toolkit file `{path.name}` cannot be imported: {error}") from error
    loaded = Path(module.__file__ or "").resolve()
    if loaded != path:
        raise UserError(f"the toolkit file `{path.name}` has the name of the module `{name}`", hint="rename the file")
    return module
