"""Options that mean nothing are refused where they are given."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.base.diagnostics import UserError
from penstock.compiler import Options


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fusion": "fast"}, "there is no fusion `fast`; it is one of auto, none, all"),
        ({"loops": "round"}, "there is no loops `round`; it is one of auto, inside, batches"),
        ({"channels": 0}, "`0` is neither a positive number of channels nor `auto`"),
        ({"channels": "many"}, "`many` is neither a positive number of channels nor `auto`"),
    ],
)
def test_a_word_that_no_option_has_is_refused(given, message):
    with pytest.raises(UserError, match=message):
        Options(**given)


def test_a_program_whose_pes_are_given_is_compiled_without_a_solver():
    """Solvers take longer to load than a small program takes to run."""
    script = """
import sys
from penstock.compiler import Options, compile
from penstock.lang import compile_text
text = 'composite Main { graph stream<int32 x> A = Beacon() {} stream<A> B = Functor(A) {} }'
compile(compile_text(text), Options(fusion="all", channels=1))
compile(compile_text(text), Options(pes=[["A"], ["B"]], channels=2))
assert "scipy" not in sys.modules, "scipy"
assert "pyspark" not in sys.modules, "pyspark"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
