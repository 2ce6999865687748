"""What PEs print comes out in one order."""

import io

from penstock.runtime.pes.prints import Printed, Prints, write_in_order
from penstock.runtime.pes.reports import PER_VALUE, Report, decode_report


def test_prints_of_several_pes_are_put_in_the_sequential_order():
    place = [(0, 0, b"")]
    first, second = Prints(lambda: place[0]), Prints(lambda: place[0])
    for number in range(4):
        place[0] = (0, number, b"\0\0\0\1")
        (first if number % 2 else second).write(f"{number} ")
        place[0] = (0, number, b"\0\0\0\1\0\0\0\1")
        (second if number % 2 else first).write(f"{number}! ")
    stdout = io.StringIO()
    write_in_order([*first.take(), *second.take()], stdout)
    assert stdout.getvalue() == "0 0! 1 1! 2 2! 3 3! "
    assert not first


def test_a_pe_never_prints_before_what_it_has_printed():
    places = iter([(5, 3, b"\1"), (5, -1, b"")])
    prints = Prints(lambda: next(places))
    prints.write("a")
    prints.write("b")
    stdout = io.StringIO()
    write_in_order([Printed(5, 1, "01", "0"), *prints.take()], stdout)
    assert stdout.getvalue() == "0ab"


def test_a_report_takes_any_number_of_prints():
    prints = tuple(Printed(0, n, "ff", f"{n}\n") for n in range(2 * PER_VALUE + 1))
    parts = [decode_report(value) for value in Report(pe=1, received={"A": [1]}, prints=prints).encode()]
    assert len(parts) == 3
    assert tuple(p for part in parts for p in part.prints) == prints
    assert [part.received for part in parts] == [{"A": [1]}, {}, {}]
