"""Ships a user's own code to the workers.

A worker can import Penstock and what is installed, but not a toolkit folder or the file of an application. So the
functions of such modules are pickled by value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import SparkContext, cloudpickle

from penstock.api.own_code import is_own
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.program import Program


def ship_user_modules(program: Program) -> None:
    """Pickle by value every module that defines one of the program's own operators, and what stands beside it."""
    known = set(standard().names())
    folders = {
        Path(str(module.__file__)).resolve().parent
        for definition in program.registry.definitions()
        if definition.kind not in known
        for module in _modules_of(definition)
        # A script that has ended, and a notebook, have none.
        if getattr(module, "__file__", None)
    }
    ship: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    carried = _py_files()
    for module in list(sys.modules.values()):
        if _is_users(module, folders, carried):
            ship(module)


def _py_files() -> frozenset[str]:
    """The names of the files of Python that Spark carries (`--py-files`, `addPyFile`).

    Its workers can import them, but not the process in which it plans the batches of a source.
    """
    context: Any = SparkContext._active_spark_context
    if context is None:
        return frozenset()
    given = context.getConf().get("spark.submit.pyFiles", "").split(",")
    return frozenset(name.rpartition("/")[2] for name in [*given, *context._python_includes] if name)


def _modules_of(definition: object) -> list[ModuleType]:
    """The modules of the functions that a definition's closures hold."""
    found = []
    for function in (getattr(definition, "runtime", None), getattr(definition, "model", None)):
        for cell in getattr(function, "__closure__", None) or ():
            module = sys.modules.get(getattr(cell.cell_contents, "__module__", None) or "")
            if module is not None:
                found.append(module)
    return found


def _is_users(module: ModuleType, folders: set[Path], carried: frozenset[str]) -> bool:
    path = getattr(module, "__file__", None)
    if not path or module.__name__.partition(".")[0] in ("penstock", "__main__"):
        return False
    place = Path(path).resolve()
    return (place.parent in folders or not carried.isdisjoint(place.parts)) and is_own(module.__name__)
