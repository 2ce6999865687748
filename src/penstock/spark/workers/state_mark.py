"""The mark of state that lies in a user's own checkpoint, where no record of ours says which plan has written it.

The plan is told by the type of a column of the state that is always null: Spark compares types of state when a query
starts, and refuses a checkpoint that has others before it runs a batch. The code of operators with state is told by
the head of the state, because the user may say that it has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from penstock.base.diagnostics import UserError

_BITS = 48
NAME = "state_of_another_application_or_plan"
"""The name of the column: Spark shows it where it refuses a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMark:
    """What state was written under.

    Attributes:
        plan: Tells the plan.
        code: Tells the code of operators with state.
        accepts_changed_code: Whether other code may go on with the state.
    """

    plan: str
    code: str
    accepts_changed_code: bool = False

    @property
    def column(self) -> str:
        """The column whose type tells the plan, as DDL.

        Example:
            >>> StateMark(plan="a", code="").column[:62]
            'state_of_another_application_or_plan struct<a0:bigint,a1:bigin'
        """
        bits = int.from_bytes(sha256(self.plan.encode()).digest()[: _BITS // 8])
        types = ("bigint" if bits >> i & 1 else "int" for i in range(_BITS))
        return f"{NAME} struct<{','.join(f'a{i}:{type_}' for i, type_ in enumerate(types))}>"

    def check_code(self, code: str) -> None:
        """Refuse state that other code has left.

        Raises:
            UserError: It is, and the user does not accept it.
        """
        if code != self.code and not self.accepts_changed_code:
            raise UserError(
                "the Python code of an operator with state has changed since the checkpoint was written",
                hint="transform(..., accept_changed_code=True) goes on with the state that the old code has left; "
                "or start with a new checkpoint",
            )
