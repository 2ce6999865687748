"""The page on SPL's standard library tells what the code does."""

import json
from pathlib import Path

import pytest

from penstock.lang.spl_coverage import Answer, Coverage, write_page

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
LIBRARY = json.loads((REFERENCE / "spl-library.json").read_text(encoding="utf-8"))
COMMAND = "python -m penstock.lang.spl_coverage docs/reference/spl-library.json > docs/reference/spl-coverage.md"


def answer_to(**parts: object) -> tuple[Answer, ...]:
    empty = {"operators": {}, "functions": {}, "types": [], "annotations": [], "settings": [], "notes": {}}
    return tuple(row.answer for _, rows in Coverage({**empty, **parts}).sections() for row in rows)


def test_the_page_is_what_the_code_says():
    assert (REFERENCE / "spl-coverage.md").read_text(encoding="utf-8") == write_page(LIBRARY), f"run `{COMMAND}`"


@pytest.mark.parametrize(
    ("prototype", "answer"),
    [
        ("<string T> int32 length(T)", Answer.YES),
        ("<any T> int32 length(T)", Answer.PARTLY),
        ("<string T> int64 length(T)", Answer.NO),
        ("<string T> int32 lenght(T)", Answer.NO),
        ("<any T>[N, M] list<T> concat(list<T>[N], list<T>[M])", Answer.YES),
        ("float32 length(complex32)", Answer.NO),
    ],
)
def test_a_function_is_called_with_all_that_its_prototype_allows(prototype, answer):
    assert answer_to(functions={"spl": [prototype]}) == (answer,)


def test_parts_of_operators_are_looked_up():
    params = {"filter": "boolean", "file": "rstring"}
    operators = {"spl::Filter": {"params": params, "output": ["int32 Count()"]}}
    assert answer_to(operators=operators) == (Answer.YES, Answer.YES, Answer.NO, Answer.NO)
    fewer = {"spl::Join": {"params": {"algorithm": ["inner", "sideways"]}, "output": []}}
    assert answer_to(operators=fewer) == (Answer.YES, Answer.PARTLY)


def test_a_note_makes_a_yes_a_partly():
    assert answer_to(types=["int32"]) == (Answer.YES,)
    assert answer_to(types=["int32"], notes={"It differs.": ["int32"]}) == (Answer.PARTLY,)


def test_whatever_is_not_plainly_there_has_a_note_and_every_note_is_used():
    coverage = Coverage(LIBRARY)
    without = [
        row.name for _, rows in coverage.sections() for row in rows if row.answer is not Answer.YES and not row.note
    ]
    assert without == []
    assert coverage.unused_notes() == set()
