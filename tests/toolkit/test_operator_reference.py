from pathlib import Path

from penstock.toolkit.reference import reference
from penstock.toolkit.registry import standard

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "operators.md"


def test_the_reference_is_what_the_definitions_say():
    written = reference(standard().definitions())
    assert PAGE.read_text() == written, "run `python -m penstock.toolkit.reference > docs/reference/operators.md`"
