import subprocess
import sys

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram


def test_a_row_without_columns_that_demands_something_has_no_solution() -> None:
    program = IntegerProgram()
    program.columns(1, upper=1.0)
    program.row([], least=1.0)
    solution = program.solve()
    assert solution.is_infeasible
    assert solution.values is None


def test_a_column_that_stands_twice_in_a_row_counts_twice() -> None:
    program = IntegerProgram()
    x = program.column(cost=-1.0)
    program.row([(x, 1.0), (x, 2.0)], most=6.0)
    solution = program.solve()
    assert solution.values is not None
    assert solution.values.tolist() == [2.0]
    assert solution.is_optimal


def test_bounds_and_costs_can_be_changed_until_it_is_solved() -> None:
    program = IntegerProgram()
    x, y = program.columns(2, upper=4.0, cost=-1.0, integral=True)
    program.upper[x], program.lower[y], program.cost[y] = 1.0, 1.0, 1.0
    solution = program.solve()
    assert solution.values is not None
    assert solution.values.tolist() == [1.0, 1.0]


def test_without_time_nothing_is_called_optimal_that_is_not_proven() -> None:
    program = IntegerProgram()
    columns = program.binaries(60)
    for column in columns:
        program.cost[column] = -float(7 + column % 13)
    for start in range(40):
        program.row([(c, float(3 + (c * start) % 17)) for c in columns], most=101.0)
    assert not program.solve(Deadline.after(0.0)).is_optimal


_PRINTS = """
import ctypes
from penstock.base.metis import drop_output
print("before", flush=True)
with drop_output():
    ctypes.CDLL(None).printf(b"from C, without a newline")
    print("from python")
print("after")
"""


def test_what_a_library_prints_is_dropped_even_from_its_buffer() -> None:
    done = subprocess.run([sys.executable, "-c", _PRINTS], capture_output=True, text=True, check=True)
    assert done.stdout == "before\nafter\n"
