"""Applications that the reference interpreter runs together, and what they exchange."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.base.diagnostics import Diagnostic, UserError

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.toolkit.core.program import Program

_TOGETHER = "give the exporting application too with `--with`, or run both on Spark with the same --streams"


def check_exchange(programs: Sequence[Program], environment: Environment) -> None:
    """Refuse streams that nobody would bring: an Import gets what the applications of the run export, and no more.

    Raises:
        UserError: Streams are to come from a folder, or an Import takes none of the streams of this run.
    """
    from penstock.expr.evaluate import Evaluator
    from penstock.toolkit.adapters.import_ import offer_of, wanted_by

    evaluators = [Evaluator(functions=p.application.functions, environment=environment) for p in programs]
    operators = [
        (p.application, o, e) for p, e in zip(programs, evaluators, strict=True) for o in p.application.operators
    ]
    exports = [(a, o, e) for a, o, e in operators if o.model.facts.exports]
    imports = [(o, e) for _, o, e in operators if o.model.facts.imports]
    folder = os.environ.get("PENSTOCK_STREAMS")
    for operator in [o for _, o, _ in exports] + [o for o, _ in imports]:
        if folder:
            message = f"`{operator.id}`: the reference interpreter does not use the streams in `{folder}`"
            raise UserError(Diagnostic(message=message, span=operator.span, hint=f"leave out --streams; {_TOGETHER}"))
    offers = [offer_of(operator, application.name, evaluator) for application, operator, evaluator in exports]
    for operator, evaluator in imports:
        wanted = wanted_by(operator, evaluator)
        if not any(wanted.may_take(offer) for offer in offers):
            message = f"Import `{operator.id}` takes none of the streams that this run exports"
            raise UserError(Diagnostic(message=message, span=operator.span, hint=_TOGETHER))
