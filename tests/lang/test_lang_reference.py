"""The examples of the language reference are right."""

import re
from pathlib import Path

import pytest

from penstock.lang import compile_text

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "language.md"
EXAMPLES = re.findall(r"```spl\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("\n")[0][:30])
def test_an_example_of_the_language_reference_compiles(example: str) -> None:
    assert compile_text(example).application.name.endswith("Main")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6
