"""The imports of a generated module: the names that it uses, and no others."""

from __future__ import annotations

import ast

from penstock.expr.emit.scope import PRELUDE

_OURS = """\
from penstock.codegen.kernels.column_operations import (
    by_distinct, cast, choose, full, function, operation, shift, typed, values,
)
from penstock.codegen.functions.class_rounds import held
from penstock.codegen.functions.instance_table import Attributes
from penstock.codegen.functions.left import (
    Left, begins, compare_text, digits, ends, greatest, has_text, is_in, is_null, is_true, join_text, least, length,
    optional, pick,
)
from penstock.codegen.functions.row_calls import (
    filter_rows, flat_map_rows, map_rows, mend_filter, mend_flat_map, mend_map,
)
from penstock.codegen.kernels.count_windows import CountWindows
from penstock.codegen.kernels.duplicates import Duplicates
from penstock.codegen.rows.frames import merged, picked
from penstock.codegen.kernels.last_tuples import LastTuples
from penstock.codegen.plan.python_functions import kept_rows, mapped
from penstock.codegen.kernels.time_windows import TumblingTimes
from penstock.codegen.kernels.tumbling_windows import TumblingCounts, TumblingDeltas, TumblingMarkers
from itertools import count
"""


def _sources() -> dict[str, str]:
    found = {}
    for node in (*ast.parse(PRELUDE).body, *ast.parse(_OURS).body):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.update({alias.name: node.module for alias in node.names})
    return found


SOURCES = _sources()
"""From the names that generated code may use to the modules that define them."""


WHOLE = ("math", "re")
"""Modules that the expressions of functions of the user's call by name."""


def imports_of(body: str) -> str:
    """The import statements that a module needs.

    Example:
        >>> print(imports_of("x = full(3, inf, parse_type('float64')) + np.zeros(3)"))
        from math import inf
        <BLANKLINE>
        import numpy as np
        <BLANKLINE>
        from penstock.codegen.kernels.column_operations import full
        from penstock.ir.types import parse_type
    """
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    by_module: dict[str, list[str]] = {}
    for name in sorted(used & SOURCES.keys()):
        by_module.setdefault(SOURCES[name], []).append(name)
    lines = {module: f"from {module} import {', '.join(names)}" for module, names in by_module.items()}
    blocks = [
        [f"import {name}" for name in WHOLE if name in used]
        + [lines[m] for m in sorted(lines) if not m.startswith("penstock.")],
        ["import numpy as np"] if "np" in used else [],
        [lines[m] for m in sorted(lines) if m.startswith("penstock.")],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)
