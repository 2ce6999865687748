"""DeDuplicate by time or by number of tuples."""

from __future__ import annotations

from penstock.codegen.write.builder import Builder, branch, key_names, listed
from penstock.codegen.write.folding import fold
from penstock.codegen.write.vector_text import sight
from penstock.ir.expressions import Attribute, Expression, Literal
from penstock.ir.graph import Operator
from penstock.ir.types import is_complex


def why_no_de_duplicate(operator: Operator) -> str | None:
    """Why it is not known beforehand how long a key is remembered, or None if it is."""
    if operator.param("deltaAttribute"):
        return "forgets by a delta"
    if operator.param("flushOnPunctuation"):
        return "forgets on markers"
    keys = operator.param("key") or operator.inputs[0].schema.attributes
    if any(is_complex(key.type) for key in keys):
        return "has complex keys, whose NaN is not seen in columns"
    given = [v for name in ("timeOut", "count", "resetOnDuplicate") for v in operator.param(name)]
    is_known = all(isinstance(fold(v), Literal) for v in given)
    return None if is_known else "has a parameter that is known only when it runs"


def write_de_duplicate(builder: Builder, operator: Operator) -> None:
    """A mask of duplicates; the second port, if there is one, receives them."""
    given = builder.input(operator, 0)
    where = sight(given.schema, given.frame)
    keys = ", ".join(builder.vectors.column(k, where).text for k in _keys(operator))
    builder.states[operator.id] = _state_text(operator)
    mask = builder.body.name(f"{operator.id}_again")
    builder.body.add(f'{mask} = pe.states["{operator.id}"].among([{keys}], pe.times({given.frame}))')
    kept = builder.body.name(f"{operator.id}_kept")
    builder.body.add(f"{kept} = {given.frame}.where(~{mask})")
    ports = len(operator.outputs)
    text = builder.assigned(operator.outputs[0].assignments, sight(given.schema, kept))
    builder.put(operator, 0, f"{text}{branch((*given.levels, 0) if ports > 1 else given.levels)}")
    if ports > 1:
        builder.put(operator, 1, f"{given.frame}.where({mask}){branch((*given.levels, 1))}")
    builder.count(operator, given.frame)


def _keys(operator: Operator) -> tuple[Expression, ...]:
    whole = tuple(Attribute(type=a.type, name=a.name) for a in operator.inputs[0].schema.attributes)
    return operator.param("key") or whole


def _state_text(operator: Operator) -> str:
    keys = [str(k.type) for k in _keys(operator)]
    limit = _literal(operator, "count", 0) if operator.param("count") else _nanoseconds(operator)
    resets = bool(_literal(operator, "resetOnDuplicate", True))
    counts, names = bool(operator.param("count")), listed(key_names(_keys(operator)))
    return f"Duplicates(keys={listed(keys)}, limit={limit}, resets={resets}, counts={counts}, names={names})"


def _nanoseconds(operator: Operator) -> int:
    return max(0, round(float(_literal(operator, "timeOut", 600.0)) * 1_000_000_000))


def _literal(operator: Operator, name: str, default: float) -> float:
    values = operator.param(name)
    value = fold(values[0]) if values else None
    return value.value if isinstance(value, Literal) and isinstance(value.value, int | float) else default
