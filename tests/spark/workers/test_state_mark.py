"""What tells a checkpoint of a user's own which plan and which code have written its state."""

from __future__ import annotations

import pytest

from penstock.base.diagnostics import UserError
from penstock.spark.workers.state_mark import StateMark


def test_the_type_of_a_column_tells_the_plan() -> None:
    columns = {StateMark(plan=plan, code="").column for plan in ("a", "b", "c", "a")}
    assert len(columns) == 3
    assert StateMark(plan="a", code="x").column == StateMark(plan="a", code="y").column


def test_changed_code_goes_on_only_if_the_user_says_so() -> None:
    StateMark(plan="a", code="x").check_code("x")
    with pytest.raises(UserError, match="the Python code of an operator with state has changed"):
        StateMark(plan="a", code="x").check_code("y")
    StateMark(plan="a", code="x", accepts_changed_code=True).check_code("y")
